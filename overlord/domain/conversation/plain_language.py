"""A message in plain words as a command: what a model is asked, and what of its answer counts.

The answer is words for the same parser that reads what people type. It does nothing by itself: a look is answered, and a verb is
offered to whoever wrote the message, if they may give it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from overlord.domain.conversation.argument import MOST_CHARS
from overlord.domain.decision import Decision
from overlord.domain.job import Job
from overlord.domain.text.plain import visible

MOST_LISTED = 30
"""Of the jobs and decisions a model is told of."""
_TITLE_CHARS = 120
FEWEST_WORDS = 3
"""Fewer are a command that was mistyped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUsage:
    """A command as a model is told of it."""

    usage: str
    means: str


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: str


def messages_for(
    message: str,
    commands: Iterable[CommandUsage],
    jobs: Sequence[Job],
    decisions: Sequence[Decision],
    *,
    place: str,
    prompt: str,
    fence: str,
) -> list[dict[str, str]]:
    """One request's messages. `place` says what the message replies to; `prompt` is `config/prompts/plain_language.md`; `fence` a random word made for this request."""
    usages = "\n".join(f"- {item.usage}: {item.means}" for item in commands)
    data = [
        _fenced(fence, "what there is", "\n".join(_there_is(jobs, decisions)) or "no job is open"),
        _fenced(fence, f"the message{place}", visible(message)[:MOST_CHARS]),
    ]
    return [
        {"role": "system", "content": prompt.format(fence=fence, commands=usages)},
        {"role": "user", "content": "\n\n".join(data)},
    ]


def _there_is(jobs: Sequence[Job], decisions: Sequence[Decision]) -> Iterable[str]:
    for job in jobs[:MOST_LISTED]:
        yield f"job {job.id}, issue {job.issue_ref}, {job.state}: {_line(job.issue.title)}"
    for decision in decisions[:MOST_LISTED]:
        yield f"{decision.ref.name}, which takes {', '.join(decision.verbs)}: {_line(decision.title)}"


def _line(text: str) -> str:
    return " ".join(visible(text).split())[:_TITLE_CHARS]


def _fenced(fence: str, source: str, text: str) -> str:
    return f'<{fence} source="{source}">\n{text}\n</{fence}>'


def command_in(reply: str) -> str:
    """The command of a model's reply; empty for none, and for a reply that is not in form."""
    try:
        command = _Answer.model_validate_json(reply.strip()).command
    except ValidationError:
        return ""
    is_line = len(command) <= MOST_CHARS and "\n" not in command and visible(command) == command
    return command.strip().removeprefix("/overlord").strip() if is_line else ""
