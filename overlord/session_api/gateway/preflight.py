"""Whether a model can be used: its address, its key, its name, found out for nothing or for one token, within seconds.

1. The list of models costs nothing. Where it names the model, and is not given to who shows no key, all three are good.
2. A list that everybody gets says nothing of the key, and many endpoints list not all they have, or have no list: then a completion
   of one token is asked for. Its refusal is read as any other (`domain/model_fault`).
3. A completion that takes long is no fault: a model on a machine of one's own may only just be loaded.
"""

import asyncio
import json
from collections.abc import Callable

from overlord.domain.model_fault import FaultKind, ModelFault, read_refusal
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


async def check(
    model: Model, name: str, *, limit_parameter: str, has_key: bool, redact: Redact, list_s: float = LIST_S
) -> ModelFault | None:
    """What keeps the model from being used; None when nothing does, as far as can be told."""
    try:
        async with asyncio.timeout(list_s):
            if await _is_listed(model, name):
                is_public = has_key and await _is_listed(model, name, signed=False)
                if not is_public:
                    return None
    except TimeoutError:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=f"no answer within {list_s:.0f} s")
    except ModelUnavailable as error:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
    try:
        async with asyncio.timeout(COMPLETION_S):
            return await _complete(model, name, limit_parameter, redact)
    except TimeoutError:
        return None


async def check_again(
    model: Model, name: str, *, limit_parameter: str, redact: Redact, within_s: float = AGAIN_S
) -> ModelFault | None:
    """The same of a model that gave no replies, by a completion of one token alone: silence is no sign that it does now."""
    try:
        async with asyncio.timeout(within_s):
            return await _complete(model, name, limit_parameter, redact)
    except TimeoutError:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=f"no answer within {within_s:.0f} s")


async def _complete(model: Model, name: str, limit_parameter: str, redact: Redact) -> ModelFault | None:
    messages = [{"role": "user", "content": "Say yes."}]
    body = json.dumps({"model": name, "messages": messages, limit_parameter: 1}).encode()
    try:
        async with model.complete(body) as reply:
            text = await _read_reply(reply, MAX_REPLY_BYTES)
    except ModelUnavailable as error:
        return ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
    if reply.status < 300 and not _is_completion(text):
        return ModelFault(kind=FaultKind.ADDRESS, detail=f"{reply.status}: its answer is no completion")
    return read_refusal(reply.status, redact(text), name)


async def _is_listed(model: Model, name: str, *, signed: bool = True) -> bool:
    async with model.models(signed=signed) as reply:
        text = await _read_reply(reply, MAX_LIST_BYTES)
    if reply.status >= 300:
        return False
    try:
        known = {item["id"].removeprefix("models/") for item in json.loads(text)["data"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return name.removeprefix("models/") in known


def _is_completion(text: str) -> bool:
    try:
        return isinstance(json.loads(text)["choices"], list)
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
