"""A session's brief as people read it: the words the model was given, in their three layers, each with where it comes from."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime

from minion.native.prompt import IDENTITY, MISSION, WORLD, Layer, layers
from minion.protocol import NATIVE, Brief
from overlord.domain.text.plain import visible
from overlord.store.checks.evaluations import EvaluationRow

WIDTH = 80
FENCE = "data"
"""In place of the random mark of a real session, so that the same brief gives the same text."""
_TITLES = {
    IDENTITY: "IDENTITY: who the session is, and its limits",
    MISSION: "MISSION: what it has to do",
    WORLD: "WORLD: what there is to read",
}
_NOTE = re.compile(r"(?P<what>[^\n(]+) \((?P<source>[^)\n]+)\):")
"""How a note for a role begins: what it is, and whose."""


def brief_text(brief: Brief, *, evaluation: int = 0) -> str:
    """The whole text at 80 columns. `evaluation`: the number of the one whose findings it names; 0 for none."""
    return "\n".join(_lines(brief, evaluation)).rstrip("\n")


def evaluation_of(brief: Brief, prepared_at: datetime, past: Sequence[EvaluationRow]) -> int:
    """The number of the evaluation whose findings a brief names; 0 where it names none of any."""
    for number, row in reversed(list(enumerate(past, 1))):
        found = [finding for check in row.checks for finding in check.findings]
        if row.at <= prepared_at and any(finding in found for finding in brief.findings):
            return number
    return 0


def _lines(brief: Brief, evaluation: int) -> Iterator[str]:
    yield _line(f"{brief.session_id}: a {brief.kind} session of role {brief.role}{_by(brief)}")
    yield f"base {brief.base_sha[:12]}, head {brief.head_sha[:12]}, branch {_line(brief.branch)}"
    shown = ""
    for part in layers(brief, FENCE):
        if part.layer != shown:
            shown = part.layer
            yield from ("", _TITLES[shown], "=" * len(_TITLES[shown]))
        yield from ("", f"-- from {_line(source_of(brief, part, evaluation))}")
        for line in visible(part.text).strip("\n").split("\n"):
            yield from _wrapped(line)


def _by(brief: Brief) -> str:
    return "" if brief.agent.program == NATIVE else f", worked by {brief.agent.name}"


def source_of(brief: Brief, part: Layer, evaluation: int = 0) -> str:
    """Where a part of a brief comes from, in words."""
    terms, source = brief.terms, part.source
    if source == "program":
        return "Overlord, the same for every session"
    if source == "contract" and terms is not None:
        return f"contract {terms.contract}, role {brief.role}"
    if source == "evaluation":
        return f"evaluation {evaluation}" if evaluation else "what was asked for at the pull request"
    if source == "assignments":
        return "plan/delegation.yaml"
    if source == "inputs" and terms is not None:
        return f"phase {terms.phase}: its inputs"
    if source == "plan" and terms is not None:
        return ", ".join(file.path for file in terms.plan) or "plan"
    if source.startswith("feedback ") and terms is not None:
        return _note(terms.feedback[int(source.split()[-1]) - 1])
    return _SOURCES.get(source, source)


_SOURCES = {
    "base": "the repository at its base commit",
    "named files": "the issue, and the repository at its base commit",
    "guidance": "the repository's own guidance for agents",
    "scope": "the scope of this session",
    "skills": "the skills of the repository",
    "question": "the question this session is asked",
    "last attempt": "the attempt that was taken back",
}


def _note(text: str) -> str:
    found = _NOTE.match(text)
    if found is None:
        return "a note"
    return f"note of {_OF.get(found['source'], found['source'])}"


_OF = {"architect": "the architect", "evaluation": "the evaluation"}


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def _wrapped(line: str) -> Iterator[str]:
    """A line in pieces that fit, its indentation kept."""
    indent = " " * min(len(line) - len(line.lstrip(" ")), WIDTH // 2)
    hanging = indent + ("  " if line.lstrip().startswith(("- ", "* ")) else "")
    yield from textwrap.wrap(
        line.strip(),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [""]
