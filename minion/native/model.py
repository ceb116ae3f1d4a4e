"""One chat completion through the session API, and what came back made safe to answer.

Models send empty replies, half replies, refusals, arguments that are no JSON and things that are no reply at
all. Every one of them becomes a Reply, whose message can be sent back unless it is unreadable; none is an exception.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from minion.native.conversation import Conversation
from minion.protocol import COMPLETIONS_PATH
from minion.session_api import SessionApi

COMPLETION_TIMEOUT_S = 900.0
CALLS_PER_REPLY = 32
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_SUBJECTS = ("path", "command", "pattern", "question", "summary", "reason", "name")
"""The arguments that say what a call is about."""
_NOT_ECHOED = frozenset({"function_call", "annotations", "audio"})


class Flaw(StrEnum):
    """What is wrong with a reply that asks for nothing to be done. An unreadable one is no turn: it is asked for again."""

    NONE = ""
    EMPTY = "empty"
    CUT_OFF = "cut_off"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call a model asked for. `problem` says what is wrong with its arguments, if anything."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    problem: str = ""

    @property
    def in_words(self) -> str:
        """For people who follow the session."""
        subject: Any = next((self.arguments[name] for name in _SUBJECTS if name in self.arguments), "")
        return f"{self.name} {str(subject)[:120]}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply: the message as it goes back into the conversation, and what it asks for."""

    message: Mapping[str, Any]
    text: str = ""
    calls: Sequence[ToolCall] = ()
    flaw: Flaw = Flaw.NONE
    prompt_tokens: int = 0

    @property
    def in_words(self) -> str:
        """What it asks for, for people who follow the session."""
        return "; ".join(call.in_words for call in self.calls)


class Model:
    """The model behind the session API, asked with one set of tools."""

    def __init__(self, session_api: SessionApi, name: str, tools: Sequence[Mapping[str, Any]]) -> None:
        self._session_api = session_api
        self._head = b'{"model":%b,"tools":%b,"messages":[' % (
            json.dumps(name).encode(),
            json.dumps(tools, separators=(",", ":")).encode(),
        )

    def complete(self, conversation: Conversation, turn: int) -> Reply:
        """Ask for the next reply. Raises OutOfBudget, SessionApiRefused or SessionApiGone."""
        body = b"%b%b]}" % (self._head, conversation.joined())
        answer = self._session_api.post(COMPLETIONS_PATH, body, timeout_s=COMPLETION_TIMEOUT_S)
        reply = read_reply(answer.body, turn)
        conversation.measure(len(body), reply.prompt_tokens)
        return reply


def read_reply(data: bytes, turn: int) -> Reply:
    """Make a Reply of whatever came back."""
    try:
        value = json.loads(data)
        choice = value["choices"][0]
        message = choice["message"]
        text = _content_text(message.get("content"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Reply(message={}, flaw=Flaw.UNREADABLE)
    finish = choice.get("finish_reason")
    asked = message.get("tool_calls")
    calls = [
        _call(item, turn, number, cut_off=finish == "length")
        for number, item in enumerate(asked[:CALLS_PER_REPLY] if isinstance(asked, list) else ())
    ]
    return Reply(
        message=_echo(message, text, calls),
        text=text,
        calls=calls,
        flaw=Flaw.NONE if calls else _flaw(message, text, finish),
        prompt_tokens=_prompt_tokens(value),
    )


def _flaw(message: Mapping[str, Any], text: str, finish: object) -> Flaw:
    if message.get("refusal") or finish == "content_filter":
        return Flaw.REFUSED
    if finish == "length":
        return Flaw.CUT_OFF
    return Flaw.NONE if text.strip() else Flaw.EMPTY


def _content_text(content: object) -> str:
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _call(item: object, turn: int, number: int, *, cut_off: bool) -> ToolCall:
    function = item.get("function") if isinstance(item, dict) else None
    function = function if isinstance(function, dict) else {}
    call_id = item.get("id") if isinstance(item, dict) else None
    name = function.get("name")
    arguments, problem = _arguments(function.get("arguments"))
    if problem and cut_off:
        problem = "the reply was cut off at the model's output limit; do it in smaller parts"
    return ToolCall(
        id=call_id if isinstance(call_id, str) and call_id else f"call_{turn}_{number}",
        name=_NOT_IN_A_NAME.sub("_", name)[:64] if isinstance(name, str) and name else "unknown",
        arguments=arguments,
        problem=problem,
    )


def _arguments(raw: object) -> tuple[Mapping[str, Any], str]:
    if isinstance(raw, dict):
        return raw, ""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, ""
    try:
        value = json.loads(str(raw), strict=False)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not JSON: {error}"
    return (value, "") if isinstance(value, dict) else ({}, "the arguments are not a JSON object")


def _echo(message: Mapping[str, Any], text: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    """The message as it goes back: everything a backend may want to see again, in a form every backend takes."""
    kept = {key: value for key, value in message.items() if value and key not in _NOT_ECHOED}
    kept |= {"role": "assistant", "content": text}
    kept.pop("tool_calls", None)
    if not calls:
        kept["content"] = text or "(nothing)"
        return kept
    kept["tool_calls"] = [
        _echoed_call(item, call) for item, call in zip(message["tool_calls"], calls, strict=False)
    ]
    return kept


def _echoed_call(item: object, call: ToolCall) -> dict[str, Any]:
    known = item if isinstance(item, dict) else {}
    function = known.get("function")
    text = function.get("arguments") if isinstance(function, dict) else None
    sound = isinstance(text, str) and bool(text.strip()) and not call.problem
    arguments = text if sound else json.dumps(call.arguments)
    return {
        **known,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _prompt_tokens(value: Mapping[str, Any]) -> int:
    usage = value.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else 0
