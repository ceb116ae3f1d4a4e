"""A chat completion as a reply of the Responses API: whole, or as the events of a stream.

A reply is a list of items: thoughts, words, calls. Each is opened at its first piece and done when another kind begins, calls at the
end, since endpoints may mix the pieces of several. Ids are made of the completion's own and of the conversation's length, so the same
reply has the same ids, and no two of a conversation share one.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from overlord.domain.wires.responses_chat import names_of, unwrapped
from overlord.domain.wires.translation.completion import (
    Completion,
    Piece,
    PieceKind,
    ToolCall,
    read_completion,
)
from overlord.domain.wires.translation.event_stream import write_json
from overlord.domain.wires.translation.tool_names import ToolNames
from overlord.domain.wires.wire import ModelRequest

ENDED_EARLY = "the endpoint's reply ended before it was whole"
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(slots=True)
class _Item:
    index: int
    kind: PieceKind
    id: str
    call: ToolCall | None = None
    texts: list[str] = field(default_factory=list)
    is_shown: bool = False
    """Whether its beginning was told: a call's is, once its name is there."""
    is_done: bool = False


def event(kind: str, number: int, **fields: Any) -> bytes:
    """An event as the stream has it."""
    data = write_json({"type": kind, "sequence_number": number, **fields})
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def failed_response(code: str, message: str, **fields: Any) -> dict[str, Any]:
    """What `response.failed` holds."""
    return {
        "id": "resp_failed",
        "object": "response",
        "status": "failed",
        "output": [],
        "error": {"code": code, "message": message},
        **fields,
    }


class ResponsesTranslator:
    """`StreamTranslator` for one reply."""

    def __init__(self, request: ModelRequest, model: str) -> None:
        self._model = model
        self._names: ToolNames = names_of(request)
        self._turn = len(request.messages)
        self._said = Completion()
        self._items: list[_Item] = []
        self._calls: dict[int, _Item] = {}
        self._number = 0
        self._seed = ""
        self._ended = False

    def feed(self, events: bytes) -> bytes:
        if self._ended:
            return b""
        out = []
        for piece in self._said.feed(events):
            out += [*self._start(), *self._piece(piece)]
        if self._said.error is not None:
            out += [*self._start(), self._fail(self._said.error)]
        elif self._said.id or self._said.finish:
            out = [*self._start(), *out]
        return b"".join(out)

    def end(self) -> bytes:
        if self._ended:
            return b""
        out = list(self._start())
        if self._said.finish is None:
            return b"".join([*out, self._fail(ENDED_EARLY)])
        self._ended = True
        out += self._close_all()
        response = self._response(self._status())
        kind = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
        return b"".join([*out, self._event(kind, response=response)])

    def whole(self, reply: bytes) -> bytes:
        """A reply that came in one piece."""
        self._said, pieces = read_completion(reply)
        self._seed = self._made_seed()
        for piece in pieces:
            for _ in self._piece(piece):
                pass
        for _ in self._close_all():
            pass
        return write_json(self._response(self._status()))

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return event(kind, self._number - 1, **fields)

    def _made_seed(self) -> str:
        return hashlib.sha256(f"{self._said.id} {self._turn}".encode("utf-8", "replace")).hexdigest()[:24]

    def _start(self) -> Iterator[bytes]:
        if not self._seed:
            self._seed = self._made_seed()
            response = self._response("in_progress")
            yield self._event("response.created", response=response)
            yield self._event("response.in_progress", response=response)

    def _fail(self, message: str) -> bytes:
        self._ended = True
        failed = failed_response("model_unavailable", message, id=f"resp_{self._seed}", model=self._model)
        return self._event("response.failed", response=failed)

    def _status(self) -> str:
        return "incomplete" if self._said.finish in _INCOMPLETE else "completed"

    def _response(self, status: str) -> dict[str, Any]:
        reason = _INCOMPLETE.get(self._said.finish or "") if status == "incomplete" else None
        return {
            "id": f"resp_{self._seed}",
            "object": "response",
            "created_at": self._said.created,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": self._model,
            "output": [self._written(item) for item in self._items if item.is_done],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "store": False,
            "usage": self._usage() if status != "in_progress" else None,
        }

    def _usage(self) -> Mapping[str, Any] | None:
        used = self._said.usage
        if used is None:
            return None
        return {
            "input_tokens": used.prompt,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.completion,
            "output_tokens_details": {"reasoning_tokens": self._said.reasoning_tokens},
            "total_tokens": used.total,
        }

    def _piece(self, piece: Piece) -> Iterator[bytes]:
        if piece.call is not None:
            yield from self._call_piece(piece.call, piece.text)
            return
        last = self._items[-1] if self._items else None
        if last is None or last.kind is not piece.kind or last.is_done:
            yield from self._close_text()
            last = self._opened(piece.kind)
            yield from self._shown(last)
        last.texts.append(piece.text)
        if piece.kind is PieceKind.TEXT:
            yield self._of(last, "response.output_text.delta", content_index=0, delta=piece.text, logprobs=[])
        else:
            yield self._of(last, "response.reasoning_summary_text.delta", summary_index=0, delta=piece.text)

    def _call_piece(self, call: ToolCall, text: str) -> Iterator[bytes]:
        if call.position not in self._calls:
            yield from self._close_text()
            self._calls[call.position] = self._opened(PieceKind.CALL, call)
        item = self._calls[call.position]
        if not call.name:
            return
        delta = text
        if not item.is_shown:
            delta = call.arguments
            yield from self._shown(item)
        if delta and not self._names.split(call.name).is_custom:
            yield self._of(item, "response.function_call_arguments.delta", delta=delta)

    def _opened(self, kind: PieceKind, call: ToolCall | None = None) -> _Item:
        prefix = {PieceKind.THOUGHT: "rs", PieceKind.TEXT: "msg", PieceKind.CALL: "fc"}[kind]
        index = len(self._items)
        item = _Item(index, kind, f"{prefix}_{self._seed}{index}", call)
        self._items.append(item)
        return item

    def _of(self, item: _Item, kind: str, **fields: Any) -> bytes:
        return self._event(kind, item_id=item.id, output_index=item.index, **fields)

    def _shown(self, item: _Item) -> Iterator[bytes]:
        item.is_shown = True
        begun = self._written(item)
        yield self._event("response.output_item.added", output_index=item.index, item=begun)
        if item.kind is PieceKind.TEXT:
            part = _text_part("")
            yield self._of(item, "response.content_part.added", content_index=0, part=part)
        elif item.kind is PieceKind.THOUGHT:
            part = {"type": "summary_text", "text": ""}
            yield self._of(item, "response.reasoning_summary_part.added", summary_index=0, part=part)

    def _close_text(self) -> Iterator[bytes]:
        """Words and thoughts are done when something else begins."""
        if self._items and self._items[-1].kind is not PieceKind.CALL and not self._items[-1].is_done:
            yield from self._closed(self._items[-1])

    def _close_all(self) -> Iterator[bytes]:
        for item in self._items:
            if not item.is_done:
                if not item.is_shown:
                    yield from self._shown(item)
                yield from self._closed(item)

    def _closed(self, item: _Item) -> Iterator[bytes]:
        item.is_done = True
        done, text = self._written(item), "".join(item.texts)
        if item.kind is PieceKind.TEXT:
            part = _text_part(text)
            yield self._of(item, "response.output_text.done", content_index=0, text=text, logprobs=[])
            yield self._of(item, "response.content_part.done", content_index=0, part=part)
        elif item.kind is PieceKind.THOUGHT:
            part = {"type": "summary_text", "text": text}
            yield self._of(item, "response.reasoning_summary_text.done", summary_index=0, text=text)
            yield self._of(item, "response.reasoning_summary_part.done", summary_index=0, part=part)
        elif done["type"] == "custom_tool_call":
            yield self._of(item, "response.custom_tool_call_input.delta", delta=done["input"])
            yield self._of(item, "response.custom_tool_call_input.done", input=done["input"])
        else:
            arguments, name = done["arguments"], done["name"]
            yield self._of(item, "response.function_call_arguments.done", name=name, arguments=arguments)
        yield self._event("response.output_item.done", output_index=item.index, item=done)

    def _written(self, item: _Item) -> dict[str, Any]:
        """An item as far as it is: with its words once it is done."""
        text = "".join(item.texts)
        if item.kind is PieceKind.THOUGHT:
            summary = [{"type": "summary_text", "text": text}] if item.is_done else []
            return {"type": "reasoning", "id": item.id, "summary": summary}
        status = "completed" if item.is_done else "in_progress"
        if item.call is None:
            content = [_text_part(text)] if item.is_done else []
            return {
                "type": "message",
                "id": item.id,
                "status": status,
                "role": "assistant",
                "content": content,
            }
        return self._written_call(item, item.call, status)

    def _written_call(self, item: _Item, call: ToolCall, status: str) -> dict[str, Any]:
        tool = self._names.split(call.name)
        written: dict[str, Any] = {
            "type": "custom_tool_call" if tool.is_custom else "function_call",
            "id": item.id,
            "status": status,
            "call_id": call.id or f"call_{self._seed}{item.index}",
            "name": tool.name,
        }
        if tool.namespace:
            written["namespace"] = tool.namespace
        if tool.is_custom:
            return {**written, "input": unwrapped(call.arguments) if item.is_done else ""}
        return {**written, "arguments": (call.arguments or "{}") if item.is_done else ""}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
