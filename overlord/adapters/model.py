"""An OpenAI-compatible endpoint over httpx. It adds the key and streams the reply; whether a reply is good is
for the gateway to say. Nothing that leaves here as an exception carries the key.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

from overlord.adapters.http import open_client
from overlord.errors import ModelUnavailable, SettingsError
from overlord.points import Moment, Point, reached

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""The longest a model may stay silent, before its reply and between two pieces of it."""
OF_THE_CONNECTION = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)
"""Headers that are true of the bytes between us and the endpoint, and not of the chunks we give."""

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL)


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
            raise ModelUnavailable(f"the model's reply was cut off ({type(error).__name__})") from None


class OpenAIModel:
    """`ports.Model`. `base_url` is what OpenAI's clients call it: it ends where `/chat/completions` begins."""

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
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._headers = {"content-type": "application/json"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        timeout = httpx.Timeout(read_timeout_s, connect=connect_timeout_s, write=60.0)
        self._http = open_client(base_url, timeout)

    @asynccontextmanager
    async def complete(self, body: bytes) -> AsyncIterator[_Reply]:
        """Send one request; any status is a reply. Raises ModelUnavailable when there is none."""
        request = self._http.build_request("POST", self._url, content=body, headers=self._headers)
        reached(Point.ASK_MODEL, Moment.BEFORE)
        try:
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            sent = not isinstance(error, _NEVER_SENT)
            raise ModelUnavailable(
                f"the model gave no reply ({type(error).__name__})", reached=sent
            ) from None
        try:
            reached(Point.ASK_MODEL, Moment.AFTER)
            yield _Reply(response)
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._http.aclose()
