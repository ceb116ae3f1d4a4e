"""What a worker gives as its result: JSON in the form that every discipline has, read as untrusted text.

Its word on `verified` is noted and counts for nothing: that is found by code.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from overlord.domain.disciplines.call import CallStatus
from overlord.domain.disciplines.catalog import DisciplineKind, Phase
from overlord.domain.text.plain import visible

MOST_ANSWER = 400_000
MOST_MESSAGE = 2_000
MOST_OUTPUT = 60_000
MOST_PATH = 500
MOST_SKILL = 100
_OPENING = re.compile(r"```(?:json)?[ \t]*$")
_CUT = " … (cut)"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResult:
    """A result in form. All its texts are untrusted, without hidden characters, and cut."""

    status: CallStatus
    file_path: str = ""
    runner_output: str = ""
    message: str = ""
    claims_verified: bool = False
    """Whether it said of itself that it is verified."""


def worker_result(answer: str, kind: DisciplineKind) -> WorkerResult | str:
    """The result in a worker's answer, or why there is none, as a sentence."""
    if not answer.strip():
        return "The worker gave no result."
    if len(answer) > MOST_ANSWER:
        return f"The worker's result has {len(answer):,} characters; at most {MOST_ANSWER:,} are read."
    said = _read(answer)
    if said is None:
        return "The worker's result is no JSON object."
    phase = said.get("phase")
    if not isinstance(phase, str) or phase not in set(Phase):
        shown = phase if isinstance(phase, str) else json.dumps(phase)
        return f"phase must be one of {'|'.join(Phase)}, got: {visible(shown)[:100]}"
    if phase != kind.phase:
        return f"The worker answered for phase {phase} in a call of {kind.phase}."
    status = said.get("status")
    if not isinstance(status, str) or status not in set(CallStatus):
        shown = status if isinstance(status, str) else json.dumps(status)
        return f"status must be one of {'|'.join(CallStatus)}, got: {visible(shown)[:100]}"
    return WorkerResult(
        status=CallStatus(status),
        file_path=_path(said.get("file_path")),
        runner_output=_text(said.get("runner_output"), MOST_OUTPUT),
        message=_text(said.get("message"), MOST_MESSAGE),
        claims_verified=said.get("verified") is True,
    )


def _read(answer: str) -> dict[str, object] | None:
    """The one object of an answer: alone, in a fenced block, or with words round it."""
    for text in (
        answer.strip(),
        *_blocks(answer),
        answer[answer.find("{") : answer.rfind("}") + 1],
    ):
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict):
            return said
    return None


def _blocks(answer: str) -> Iterator[str]:
    """The fenced blocks of an answer, each line looked at once: whatever stands in it, this ends soon."""
    block: list[str] | None = None
    for line in answer.split("\n"):
        if block is not None and line.lstrip(" \t").startswith("```"):
            yield "\n".join(block)
            block = None
        elif block is not None:
            block.append(line)
        elif _OPENING.search(line):
            block = []


def _path(value: object) -> str:
    """The file that it names, below the project; empty for one that is elsewhere: whoever called could open it."""
    path = " ".join(_text(value, MOST_PATH).split())
    spelt = path.replace("\\", "/")
    leaves = spelt.startswith(("/", "~")) or ":/" in spelt or ".." in PurePosixPath(spelt).parts
    return "" if leaves else path


def _text(value: object, most: int) -> str:
    """A field as a text; what is none is written as JSON."""
    if value is None:
        return ""
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT
