"""Scripts for the embedded model: a play is a list of turns, a turn is what the model says or how it misbehaves.

In Python, `call`, `edit`, `write`, `run`, `read`, `submit`, `give_result`, `blocked`, `say` and the misbehaviours each make one turn; in YAML
a play is `{when: …, turns: [{tool: …, arguments: {…}} | {text: …, tools: […]} | {misbehave: …}]}`.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Misbehaviour(StrEnum):
    """What a model, or what stands before it, gets wrong."""

    GARBAGE = "garbage"
    """A reply that is not JSON."""
    STATUS = "status"
    """An HTTP error."""
    CUT = "cut"
    """A connection that breaks: before the reply, or in the middle of a stream."""
    SILENCE = "silence"
    """No reply at all; the client gives up."""
    EMPTY = "empty"
    """A message without text or tool calls."""
    REFUSAL = "refusal"
    """The model will not."""
    CUT_OFF = "cut-off"
    """The token limit ended the reply in the middle of a word."""
    MALFORMED_ARGUMENTS = "malformed-arguments"
    """A tool call whose arguments are not JSON."""


NO_REPLY = frozenset({Misbehaviour.GARBAGE, Misbehaviour.STATUS, Misbehaviour.CUT, Misbehaviour.SILENCE})
"""After these the conversation has no new assistant message: the client has to ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool the model calls."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    misbehaviour: Misbehaviour | None = None
    status: int = 200
    retry_after_s: int | None = None

    @property
    def is_reply(self) -> bool:
        """Whether it ends up in the conversation."""
        return self.misbehaviour not in NO_REPLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What happens in one conversation. `when` must occur in its first two messages."""

    turns: tuple[Turn, ...]
    when: str | None = None

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError("a play needs at least one turn")


def call(tool: str, /, **arguments: Any) -> Turn:
    """Call any tool."""
    return Turn(calls=(ToolCall(name=tool, arguments=arguments),))


def read(path: str) -> Turn:
    return call("read_file", path=path)


def edit(path: str, old: str, new: str) -> Turn:
    return call("edit_file", path=path, old=old, new=new)


def write(path: str, content: str) -> Turn:
    return call("write_file", path=path, content=content)


def run(command: str) -> Turn:
    return call("run_command", command=command)


def submit(summary: str = "done") -> Turn:
    return call("task_complete", summary=summary)


def give_result(status: str = "pass", message: str = "done", **more: Any) -> Turn:
    """End a session of a discipline; `more` are `file_path`, `runner_output`."""
    return call("give_result", status=status, message=message, **more)


def blocked(reason: str) -> Turn:
    return call("task_blocked", reason=reason)


def say(text: str) -> Turn:
    """Text and no tool call."""
    return Turn(text=text)


def together(*turns: Turn, text: str | None = None) -> Turn:
    """Several tool calls in one reply, with text beside them."""
    return Turn(calls=tuple(tool for turn in turns for tool in turn.calls), text=text)


def garbage() -> Turn:
    return Turn(misbehaviour=Misbehaviour.GARBAGE)


def status(code: int, *, retry_after_s: int | None = None, text: str | None = None) -> Turn:
    """Answer with an HTTP error (that says `text`), once (for good, when it is the play's last turn)."""
    return Turn(misbehaviour=Misbehaviour.STATUS, status=code, retry_after_s=retry_after_s, text=text)


def cut() -> Turn:
    return Turn(misbehaviour=Misbehaviour.CUT, text="I was about to say that ")


def silence() -> Turn:
    return Turn(misbehaviour=Misbehaviour.SILENCE)


def empty() -> Turn:
    return Turn(misbehaviour=Misbehaviour.EMPTY)


def refusal(text: str = "I can't help with that.") -> Turn:
    return Turn(misbehaviour=Misbehaviour.REFUSAL, text=text)


def cut_off(text: str = "The next thing to do is to ch") -> Turn:
    return Turn(misbehaviour=Misbehaviour.CUT_OFF, text=text)


def malformed(tool: str = "read_file") -> Turn:
    """A tool call with arguments that are not JSON."""
    return Turn(misbehaviour=Misbehaviour.MALFORMED_ARGUMENTS, calls=(ToolCall(name=tool),))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _ToolText(_Strict):
    tool: str
    arguments: dict[str, Any] = {}


class _TurnText(_Strict):
    text: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] = {}
    tools: list[_ToolText] = []
    misbehave: Misbehaviour | None = None
    status: int = 500

    @model_validator(mode="after")
    def _check_not_empty(self) -> "_TurnText":
        if not (self.text or self.tool or self.tools or self.misbehave):
            raise ValueError("a turn needs text, tool, tools or misbehave")
        return self

    def turn(self) -> Turn:
        own = [_ToolText(tool=self.tool, arguments=self.arguments)] if self.tool else []
        calls = tuple(ToolCall(name=item.tool, arguments=item.arguments) for item in [*own, *self.tools])
        turn = Turn(text=self.text, calls=calls, misbehaviour=self.misbehave)
        return replace(turn, status=self.status) if self.misbehave is Misbehaviour.STATUS else turn


class _PlayText(_Strict):
    when: str | None = None
    turns: list[_TurnText] = Field(min_length=1)


class _ScriptText(_Strict):
    plays: list[_PlayText]


def parse_script(text: str) -> list[Play]:
    """Read plays from YAML; raises ValueError with what is wrong and where."""
    script = _ScriptText.model_validate(yaml.safe_load(text))
    return [Play(turns=tuple(turn.turn() for turn in play.turns), when=play.when) for play in script.plays]


def read_script(path: Path) -> list[Play]:
    return parse_script(path.read_text(encoding="utf-8"))
