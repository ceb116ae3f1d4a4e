"""The engine's way to a model: the same gateway, budgets and transcripts as a session's, for one call without tools."""

import json
from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException

from overlord.domain.session import Account
from overlord.domain.wires.wire import Wire
from overlord.errors import ModelRefused, ModelUnavailable
from overlord.session_api.gateway import gateway
from overlord.session_api.gateway.client_request import ClientRequest
from overlord.session_api.parts import SessionApiParts


class GatewayAssistant:
    """`ports.Assistant` over the gateway."""

    def __init__(self, parts: SessionApiParts) -> None:
        self._parts = parts

    async def answer(self, account: Account, messages: Sequence[Mapping[str, str]]) -> str:
        request = {"messages": [dict(message) for message in messages]}
        try:
            asked = ClientRequest.read(self._parts.settings, account, request, Wire.CHAT)
            response = await gateway.answer(self._parts, account, asked)
        except HTTPException as error:
            raise ModelRefused(f"the request was refused: {error.detail}") from None
        body = bytes(response.body).decode(errors="replace")
        if response.status_code >= 500 or response.status_code == 429:
            raise ModelUnavailable(f"the model gave no reply ({response.status_code})")
        if response.status_code >= 400:
            raise ModelRefused(f"the model refused ({response.status_code}): {_why(body)[:300]}")
        return _reply_text(body)


def _why(body: str) -> str:
    """The message of an error, as endpoints and the gateway write one; all that was said where there is none."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return body
    return message if isinstance(message, str) else body


def _reply_text(body: str) -> str:
    """The reply's words; nothing when it is no completion, which whoever asked takes for a bad answer."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""
    return content if isinstance(content, str) else ""
