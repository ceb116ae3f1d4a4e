"""A model's endpoint over httpx, in any of the wires it may speak. It adds path and key and streams the reply; whether a reply is
good is for the gateway to say. Nothing that leaves here as an exception carries the key.
"""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote

import httpx

from overlord.adapters.http import open_client
from overlord.domain.wires.wire import Wire
from overlord.errors import ModelUnavailable, SettingsError
from overlord.failpoints import Failpoint, Moment, reached
from overlord.ports.model import NO_HEADERS

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""The longest a model may stay silent, before its reply and between two pieces of it."""
OF_THE_CONNECTION = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)
"""Headers that are true of the bytes between us and the endpoint, and not of the chunks we give."""

ANTHROPIC_VERSION = "2023-06-01"
"""Of the messages wire, where a client says no other."""
_PATHS = {Wire.CHAT: "chat/completions", Wire.MESSAGES: "messages", Wire.RESPONSES: "responses"}
_LISTS = {Wire.MESSAGES: "models?limit=1000", Wire.GEMINI: "models?pageSize=1000"}
_KEY_HEADERS = {Wire.MESSAGES: "x-api-key", Wire.GEMINI: "x-goog-api-key"}
"""Where a key stands that is not shown as a bearer's."""

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL)


_WORDS = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.ReadTimeout: "it is silent",
    httpx.WriteTimeout: "it takes no request",
    httpx.PoolTimeout: "too many requests wait for it",
    httpx.RemoteProtocolError: "the connection was cut",
    httpx.ReadError: "the connection was cut",
    httpx.InvalidURL: "its address is none",
    httpx.UnsupportedProtocol: "its address is none",
}


def reason_of(error: BaseException) -> str:
    """Why there was no reply, in words that hold nothing of the request: what the system says lies below httpx's error."""
    below: BaseException | None = error
    for _ in range(10):
        if isinstance(below, socket.gaierror):
            return "the name of its host is not known"
        if isinstance(below, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {below.verify_message}"
        if isinstance(below, ssl.SSLError):
            return "TLS failed"
        if isinstance(below, OSError) and below.errno:
            return os.strerror(below.errno).lower()
        if below is None:
            break
        below = below.__cause__ or below.__context__
    return _WORDS.get(type(error), type(error).__name__)


def _check_address(base_url: str) -> None:
    """Raises SettingsError for what is no address. Nothing at all is one that was not given yet."""
    try:
        url = httpx.URL(base_url)
        is_address = not base_url or (url.scheme in {"http", "https"} and bool(url.host))
    except (httpx.InvalidURL, ValueError):
        is_address = False
    if not is_address:
        raise SettingsError(
            "the model's address is none: OPENAI_BASE_URL (model.base_url) is as https://api.openai.com/v1"
        )


class _Reply:
    """`ports.ModelResponse` over httpx."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = {
            name: value for name, value in response.headers.items() if name not in OF_THE_CONNECTION
        }

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except (httpx.HTTPError, httpx.StreamError) as error:
            why = reason_of(error)
            raise ModelUnavailable(f"the model's reply was cut off ({why})", why=why) from None


def path_of(wire: Wire, model: str, *, stream: bool) -> str:
    """Where a request of a wire goes, below the endpoint's address."""
    if wire is not Wire.GEMINI:
        return _PATHS[wire]
    name = quote(model.removeprefix("models/"), safe="")
    return f"models/{name}:streamGenerateContent?alt=sse" if stream else f"models/{name}:generateContent"


class OpenAIModel:
    """`ports.Model`. `base_url` is what clients call it: it ends where `/chat/completions` or the path of another wire begins."""

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        *,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        key = api_key.strip()
        if not key.isascii() or any(not character.isprintable() or character == " " for character in key):
            raise SettingsError("OPENAI_API_KEY has characters that no key has")
        _check_address(base_url)
        self._base_url = base_url.rstrip("/")
        self._key = key
        timeout = httpx.Timeout(read_timeout_s, connect=connect_timeout_s, write=60.0)
        self._http = open_client(base_url, timeout)

    @asynccontextmanager
    async def complete(
        self,
        body: bytes,
        wire: Wire = Wire.CHAT,
        *,
        model: str = "",
        stream: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> AsyncIterator[_Reply]:
        """Send one request; any status is a reply. Raises ModelUnavailable when there is none."""
        sent = {**self._headers(wire), **headers, "content-type": "application/json"}
        reached(Failpoint.ASK_MODEL, Moment.BEFORE)
        async with self._asked("POST", path_of(wire, model, stream=stream), sent, body) as reply:
            reached(Failpoint.ASK_MODEL, Moment.AFTER)
            yield reply

    @asynccontextmanager
    async def models(self, wire: Wire = Wire.CHAT, *, signed: bool = True) -> AsyncIterator[_Reply]:
        """Ask for the list of models; any status is a reply. Raises ModelUnavailable when there is none."""
        headers = self._headers(wire, signed=signed)
        async with self._asked("GET", _LISTS.get(wire, "models"), headers) as reply:
            yield reply

    def _headers(self, wire: Wire, *, signed: bool = True) -> dict[str, str]:
        headers = {"anthropic-version": ANTHROPIC_VERSION} if wire is Wire.MESSAGES else {}
        if self._key and signed:
            name = _KEY_HEADERS.get(wire)
            headers |= {name: self._key} if name else {"authorization": f"Bearer {self._key}"}
        return headers

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[_Reply]:
        url = f"{self._base_url}/{path}"
        try:
            request = self._http.build_request(method, url, content=body, headers=headers)
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            sent, why = not isinstance(error, _NEVER_SENT), reason_of(error)
            raise ModelUnavailable(f"the model gave no reply ({why})", reached=sent, why=why) from None
        try:
            yield _Reply(response)
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._http.aclose()
