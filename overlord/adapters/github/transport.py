"""HTTP to GitHub over httpx: one request, which is sent once, and its whole answer.

No redirect is followed, no cookie kept and no `.netrc` read: httpx's transport is asked, not its client, which is half as much work as
well. No exception of httpx's leaves this file: they hold the request, and that the token.

Each request at a time has a transport of its own, with one connection. Two faults of httpcore 1.0 then cannot spread: a tunnel
through a proxy whose TLS fails keeps its place in a pool for good, and bytes that come after an answer are read as the next one. Whatever
went wrong, that transport is closed, and the others know nothing of it.
"""

import os
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx

from overlord.adapters.http import authorities_for, is_loopback, proxy_for

KEPT_ALIVE_S = 5.0
"""Servers close what is idle, many after this time."""
_HANGING_UP = "Server disconnected"
"""How httpcore begins to say that a connection ended before the head of an answer was read."""


class Unanswered(Exception):
    """There was no whole answer, and why, in a person's words. What was asked for may have happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the forge answered. The names of headers are in lower case; what came several times is one list."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class GitHubTransport:
    """The way to one forge. What it opens, it opens when it is first needed, in the loop that runs then.

    How many requests are made at a time is the caller's matter.
    """

    def __init__(self, base_url: str) -> None:
        """Raises SettingsError for a proxy that the environment names and nobody here can talk to."""
        trust_env = not is_loopback(base_url)
        self._proxy = proxy_for(base_url) if trust_env else None
        self._authorities = authorities_for(base_url, trust_env=trust_env)
        self._idle: list[tuple[float, httpx.AsyncHTTPTransport]] = []
        """Transports nobody uses, since when; the one that was used last is used next."""
        self._is_closed = False

    async def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """One request, for which there is no time limit. Raises Unanswered."""
        transport = self._opened()
        try:
            request = httpx.Request(
                method, url, headers={"accept-encoding": "gzip, deflate", **headers}, content=body or None
            )
            response = await transport.handle_async_request(request)
            whole = await response.aread()
        except httpx.HTTPError as error:
            failed = why_unanswered(error, url, self._proxy)
        except BaseException:
            await transport.aclose()
            raise
        else:
            await self._put_back(transport, response)
            return Answer(status=response.status_code, headers=dict(response.headers.items()), body=whole)
        await transport.aclose()
        raise Unanswered(failed)  # not where httpx's exception would be its context

    async def close(self) -> None:
        self._is_closed = True
        idle, self._idle = self._idle, []
        for _, transport in idle:
            await transport.aclose()

    def _opened(self) -> httpx.AsyncHTTPTransport:
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if self._idle:
            return self._idle.pop()[1]
        return httpx.AsyncHTTPTransport(
            verify=self._authorities,
            trust_env=False,
            proxy=self._proxy,
            limits=httpx.Limits(max_connections=1, keepalive_expiry=KEPT_ALIVE_S),
        )

    async def _put_back(self, transport: httpx.AsyncHTTPTransport, response: httpx.Response) -> None:
        if self._is_closed or has_surplus(response):
            await transport.aclose()
            return
        now = time.monotonic()
        stale = [item for item in self._idle if now - item[0] > KEPT_ALIVE_S]
        self._idle = [item for item in self._idle if now - item[0] <= KEPT_ALIVE_S]
        self._idle.append((now, transport))
        for _, other in stale:
            await other.aclose()


def has_surplus(response: httpx.Response) -> bool:
    """Whether the connection brought bytes after this answer, which httpcore would take for the next one.

    Its parser alone knows, and there is no public way to it: the minor version of httpx is pinned, and a test sends such bytes.
    """
    part: object = response.stream
    for name in ("_httpcore_stream", "_stream", "_connection", "_h11_state"):
        part = getattr(part, name)
    trailing: tuple[bytes, bool] = getattr(part, "trailing_data")  # noqa: B009 - no type has it
    return bool(trailing[0])


def why_unanswered(error: httpx.HTTPError, url: str, proxy: str | None) -> str:
    """Why there was no whole answer and what to look at, with httpx's own name of it. Nothing of the request is in it."""
    asked = httpx.URL(url)
    if isinstance(error, httpx.ProxyError):
        words = "the proxy refuses it; check the proxy of the environment"
    elif isinstance(error, httpx.ConnectError):
        words = _unreached(error, asked, httpx.URL(proxy) if proxy else None)
    elif isinstance(error, httpx.DecodingError | httpx.ProtocolError) and _HANGING_UP not in str(error):
        words = "the answer is no whole HTTP"
    else:
        words = "the connection broke"
    return f"{words} ({type(error).__name__})"


def _unreached(error: httpx.ConnectError, asked: httpx.URL, proxy: httpx.URL | None) -> str:
    """Why no connection came about: an unknown name, a certificate, or a network that leads nowhere."""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return f"the certificate of {asked.host} is not to be trusted; check its address and SSL_CERT_FILE"
    called = proxy or asked
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"the name {called.host} is not known here; check this machine's network and name servers"
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and (cause.errno or 0) > 0]
    why = f" ({os.strerror(numbers[0])})" if numbers and numbers[0] else ""
    looked_at = "the proxy of the environment" if proxy else "the network, firewall and proxy"
    port = called.port or (443 if called.scheme == "https" else 80)
    return f"{called.host}:{port} cannot be reached{why}; check {looked_at}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What an exception came from, group or not, and what that came from."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        if isinstance(seen, BaseExceptionGroup):
            for one in seen.exceptions:
                yield from _causes(one)
        seen = seen.__cause__ or seen.__context__
