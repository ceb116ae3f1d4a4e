"""What a session and its model said to each other, as a person reads it: a conversation of turns, calls and outputs.

The transcript has one JSON line for each model call (`session_api/transcript.py` writes it, redacted). Everything in it comes from
models, files and commands, so nothing is taken for granted: a line that is none is left out, and a reply may hold anything.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overlord.domain.text.plain import count

OUTPUT_LINES = 8
"""Of a command's output, its end, where not everything is asked for."""
EDIT_LINES = 12
"""Of the text an edit takes out, and as many of what it puts in."""
LINE_CHARS = 200
REASON_CHARS = 160
FAILED = "Error: "
"""How the Minion begins the answer to a call that could not be done."""
_EDITS = frozenset({"edit_file", "write_file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call of a reply."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    """The arguments as the model wrote them, where they are no JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One model call: what was new in its request, and the reply."""

    at: str = ""
    model: str = ""
    instructions: tuple[str, ...] = ()
    """System and user messages: the rules, the brief, and what people sent meanwhile."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Answers to earlier calls: the call's id and its output."""
    said: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int = 0
    cost_usd: float | None = None
    trouble: str = ""
    """Why there is no reply."""
    explores: bool = False
    """Whether it belongs to an exploration inside a turn, and is no turn of the session's own."""

    @property
    def is_answered(self) -> bool:
        return bool(self.said or self.calls)


def exchange_of(line: str) -> Exchange | None:
    """A line of the transcript; None for one that is cut off or is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    if "full" in data:
        return Exchange(trouble=str(data["full"]))
    messages = [message for message in _list(data.get("messages")) if isinstance(message, dict)]
    reply = data["reply"] if isinstance(data.get("reply"), dict) else {}
    usage = data["usage"] if isinstance(data.get("usage"), dict) else {}
    cost = data.get("cost_usd")
    return Exchange(
        at=str(data.get("at") or ""),
        model=str(data.get("model") or ""),
        instructions=tuple(
            _message_text(item) for item in messages if item.get("role") in ("system", "user")
        ),
        outputs=tuple(
            (str(item.get("tool_call_id")), _message_text(item))
            for item in messages
            if item.get("role") == "tool"
        ),
        said=_message_text(reply).strip(),
        calls=tuple(_call(call) for call in _list(reply.get("tool_calls"))),
        tokens=sum(value for key in ("prompt", "completion") if isinstance(value := usage.get(key), int)),
        cost_usd=cost if isinstance(cost, float) else None,
        trouble="" if reply else str(data.get("trouble") or "the model gave no reply"),
        explores=data.get("explores") is True,
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _message_text(message: Mapping[str, Any]) -> str:
    """The words of a message, whose content may be text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in _list(content) if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _call(call: object) -> Call:
    whole = call if isinstance(call, dict) else {}
    function = whole["function"] if isinstance(whole.get("function"), dict) else {}
    raw = str(function.get("arguments") or "")
    try:
        arguments = json.loads(raw)
    except (ValueError, RecursionError):
        arguments = None
    name = str(function.get("name") or "(no name)")
    if not isinstance(arguments, dict):
        return Call(id=str(whole.get("id")), name=name, raw=raw)
    return Call(id=str(whole.get("id")), name=name, arguments=arguments)


class Conversation:
    """Draws exchanges one after another; it remembers the calls whose outputs come with the next one."""

    def __init__(self, *, full: bool = False) -> None:
        self._full = full
        self._turn = 0
        self._calls: dict[str, Call] = {}

    def lines(self, exchange: Exchange) -> Iterator[str]:
        """What is new in this exchange, as lines for a terminal. Not yet without control characters."""
        for words in exchange.instructions:
            yield from self._instruction(words, is_news=self._turn > 0 and not exchange.explores)
        for identifier, output in exchange.outputs:
            yield from self._output(self._calls.pop(identifier, None), output)
        if exchange.trouble:
            yield f"    the model: {_short(exchange.trouble)}"
        if not exchange.is_answered:
            return
        self._turn += not exchange.explores
        turn = "exploration" if exchange.explores else f"turn {self._turn}"
        yield f"{turn}  {exchange.at[11:19]}Z  {_price(exchange)}"
        yield from (f"  {line}" for line in exchange.said.splitlines())
        for call in exchange.calls:
            self._calls[call.id] = call
            yield from (f"  {line}" for line in self._drawn(call))

    def _instruction(self, words: str, *, is_news: bool) -> Iterator[str]:
        if self._full or is_news:  # what comes between turns, and is short
            yield from (f"  > {line}" for line in words.splitlines())
        else:
            yield f"  > {_short(words)} ({count(len(words), 'character')})"

    def _output(self, call: Call | None, output: str) -> Iterator[str]:
        lines = output.rstrip().splitlines()
        if self._full or output.startswith(FAILED):
            shown = lines
        elif call is not None and call.name == "read_file":
            shown = [count(len(lines), "line")]
        else:
            left = len(lines) - OUTPUT_LINES
            shown = [f"… {count(left, 'line')} before", *lines[-OUTPUT_LINES:]] if left > 1 else lines
        name = f"{call.name}: " if call is not None and output.startswith(FAILED) else ""
        yield from (
            f"    {name if number == 0 else ''}{self._cut(line)}" for number, line in enumerate(shown)
        )

    def _drawn(self, call: Call) -> Iterator[str]:
        arguments = call.arguments
        path = str(arguments.get("path") or "")
        match call.name:
            case "run_command":
                yield f"$ {arguments.get('command', call.raw)}"
            case "edit_file":
                yield f"edit_file {path}"
                yield from self._block("- ", arguments.get("old"))
                yield from self._block("+ ", arguments.get("new"))
            case "write_file":
                yield f"write_file {path}"
                yield from self._block("+ ", arguments.get("content"))
            case "task_complete" | "task_blocked" | "ask_question" | "give_result":
                yield call.name
                for key, value in arguments.items():
                    yield from (f"  {line}" for line in f"{key}: {value}".splitlines())
            case _:
                values = " ".join(
                    f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items()
                )
                yield self._cut(
                    f"{call.name} {path if set(arguments) == {'path'} else values or call.raw}".strip()
                )

    def _block(self, mark: str, text: object) -> Iterator[str]:
        lines = str(text or "").splitlines()
        shown = lines if self._full else lines[:EDIT_LINES]
        yield from (f"  {mark}{self._cut(line)}" for line in shown)
        if len(lines) > len(shown):
            yield f"  {mark}… {count(len(lines) - len(shown), 'line')} more"

    def _cut(self, line: str) -> str:
        return line if self._full or len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"


def _price(exchange: Exchange) -> str:
    cost = f", ${exchange.cost_usd:.4f}" if exchange.cost_usd is not None else ""
    return f"{exchange.tokens:,} tokens{cost}"


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= REASON_CHARS else f"{line[: REASON_CHARS - 1]}…"


def failed_edits(exchanges: Iterable[Exchange]) -> Sequence[str]:
    """Why edits could not be made, in the words the model was told, each once; the file stands in them."""
    calls: dict[str, Call] = {}
    found: dict[str, None] = {}
    for exchange in exchanges:
        for identifier, output in exchange.outputs:
            call = calls.get(identifier)
            if call is not None and call.name in _EDITS and output.startswith(FAILED):
                found[_short(output.removeprefix(FAILED))] = None
        calls.update({call.id: call for call in exchange.calls})
    return list(found)
