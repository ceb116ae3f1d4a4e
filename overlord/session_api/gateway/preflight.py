"""Whether a model can be used: its address, its key, its name, found out for nothing or for one token, within seconds.

1. The list of models costs nothing. Where it names the model, and is not given to who shows no key, all three are good.
2. A list that everybody gets says nothing of the key, and many endpoints list not all they have, or have no list: then a completion
   of one token is asked for. Its refusal is read as any other (`domain/model_fault`).
3. A completion that takes long is no fault: a model on a machine of one's own may only just be loaded.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from overlord.domain.model_fault import FaultKind, ModelFault, read_refusal
from overlord.domain.wires.wire import Wire
from overlord.errors import ModelUnavailable
from overlord.ports.model import Model, ModelResponse

LIST_S = 8.0
"""The longest the list may take."""
COMPLETION_S = 15.0
AGAIN_S = 60.0
MAX_LIST_BYTES = 8 * 1024 * 1024
MAX_REPLY_BYTES = 64 * 1024

Redact = Callable[[str], str]
"""Takes secrets out of what an endpoint says: it may say the key."""


def wire_asked(wires: Sequence[Wire]) -> Wire:
    """The one of an endpoint's wires that it is tried over."""
    return Wire.CHAT if Wire.CHAT in wires else wires[0]


async def check(
    model: Model,
    name: str,
    *,
    limit_parameter: str,
    has_key: bool,
    redact: Redact,
    wire: Wire = Wire.CHAT,
    list_s: float = LIST_S,
) -> ModelFault | None:
    """What keeps the model from being used; None when nothing does, as far as can be told."""
    try:
        async with asyncio.timeout(list_s):
            if await _is_listed(model, name, wire):
                is_public = has_key and await _is_listed(model, name, wire, signed=False)
                if not is_public:
                    return None
    except TimeoutError:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=f"no answer within {list_s:.0f} s")
    except ModelUnavailable as error:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
    try:
        async with asyncio.timeout(COMPLETION_S):
            return await _complete(model, name, wire, limit_parameter, redact)
    except TimeoutError:
        return None


async def check_again(
    model: Model,
    name: str,
    *,
    limit_parameter: str,
    redact: Redact,
    wire: Wire = Wire.CHAT,
    within_s: float = AGAIN_S,
) -> ModelFault | None:
    """The same of a model that gave no replies, by a completion of one token alone: silence is no sign that it does now."""
    try:
        async with asyncio.timeout(within_s):
            return await _complete(model, name, wire, limit_parameter, redact)
    except TimeoutError:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=f"no answer within {within_s:.0f} s")


async def _complete(
    model: Model, name: str, wire: Wire, limit_parameter: str, redact: Redact
) -> ModelFault | None:
    body = json.dumps(_trial(name, wire, limit_parameter)).encode()
    try:
        async with model.complete(body, wire, model=name) as reply:
            text = await _read_reply(reply, MAX_REPLY_BYTES)
    except ModelUnavailable as error:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
    if reply.status < 300 and not _is_completion(text, wire):
        return ModelFault(kind=FaultKind.ADDRESS, detail=f"{reply.status}: its answer is no completion")
    return read_refusal(reply.status, redact(text), name)


def _trial(name: str, wire: Wire, limit_parameter: str) -> dict[str, Any]:
    """A request for one token, or for as few as the wire allows."""
    word, messages = "Say yes.", [{"role": "user", "content": "Say yes."}]
    match wire:
        case Wire.MESSAGES:
            return {"model": name, "messages": messages, "max_tokens": 1}
        case Wire.RESPONSES:
            return {"model": name, "input": word, "max_output_tokens": 16, "store": False}
        case Wire.GEMINI:
            contents = [{"role": "user", "parts": [{"text": word}]}]
            return {"contents": contents, "generationConfig": {"maxOutputTokens": 1}}
        case Wire.CHAT:
            return {"model": name, "messages": messages, limit_parameter: 1}


async def _is_listed(model: Model, name: str, wire: Wire, *, signed: bool = True) -> bool:
    async with model.models(wire, signed=signed) as reply:
        text = await _read_reply(reply, MAX_LIST_BYTES)
    if reply.status >= 300:
        return False
    items, key = ("models", "name") if wire is Wire.GEMINI else ("data", "id")
    try:
        known = {item[key].removeprefix("models/") for item in json.loads(text)[items]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return name.removeprefix("models/") in known


_REPLIES = {
    Wire.CHAT: "choices",
    Wire.MESSAGES: "content",
    Wire.RESPONSES: "output",
    Wire.GEMINI: "candidates",
}
"""The list that a reply of a wire has."""


def _is_completion(text: str, wire: Wire) -> bool:
    try:
        return isinstance(json.loads(text)[_REPLIES[wire]], list)
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


async def _read_reply(reply: ModelResponse, limit: int) -> str:
    chunks, size = [], 0
    async for chunk in reply.chunks():
        chunks.append(chunk[: limit - size])
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(chunks).decode("utf-8", "replace")
