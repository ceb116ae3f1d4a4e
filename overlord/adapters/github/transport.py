"""HTTP to GitHub over aiohttp: one request, which is sent once, and its whole answer.

No redirect is followed and no cookie kept. No exception of aiohttp's leaves this file: they hold the request, and that the token.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from yarl import URL

from overlord.adapters.http import authorities_for, is_loopback, proxy_for

KEPT_ALIVE_S = 5.0
"""Servers close what is idle, many after this time."""
HEADER_BYTES = 64 * 1024
"""As long as one header may be: the addresses of other pages are in one."""
WRITTEN_OUT = re.compile(r"[!-~]+")
"""An address in which nothing is left to be quoted."""


class Unanswered(Exception):
    """There was no whole answer, and why, in a person's words. What was asked for may have happened."""


class _Dropped(aiohttp.ClientError):
    """The connection broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a far end said. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class GitHubTransport:
    """The way to one far end. What it opens, it opens when it is first needed, in the loop that runs then."""

    def __init__(self, base_url: str, *, connections: int) -> None:
        """Raises SettingsError for a proxy that the environment names and nobody here can talk to."""
        trust_env = not is_loopback(base_url)
        self._proxy = proxy_for(base_url) if trust_env else None
        self._authorities = authorities_for(base_url, trust_env=trust_env)
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """One request, for which there is no time limit. Raises Unanswered."""
        address = URL(url, encoded=bool(WRITTEN_OUT.fullmatch(url)))
        try:
            async with self._opened().request(
                method, address, headers=headers, data=body or None, allow_redirects=False
            ) as response:
                whole = await response.read()
                return Answer(status=response.status, headers=_read(response.raw_headers), body=whole)
        except aiohttp.ClientError as error:
            failed = why_unanswered(error)
        raise Unanswered(failed)  # not where aiohttp's exception would be its context

    async def close(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self._authorities, limit=self._connections, keepalive_timeout=KEPT_ALIVE_S
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(),
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=HEADER_BYTES,
                max_field_size=HEADER_BYTES,
                middlewares=(_once,),
            )
        return self._session


def why_unanswered(error: aiohttp.ClientError) -> str:
    """Why there was no whole answer and what to look at, with aiohttp's own name of it. Nothing of the request is in it."""
    name = str(error) if isinstance(error, _Dropped) else type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        words = f"the name {error.host} is not known here; check this machine's network and name servers"
    elif isinstance(error, aiohttp.ClientConnectorCertificateError):
        words = f"the certificate of {error.host} is not to be trusted; check its address and SSL_CERT_FILE"
    elif isinstance(error, aiohttp.ClientConnectorError):
        where, cause = f"{error.host}:{error.port}", _cause(error.os_error)
        is_proxy = isinstance(error, aiohttp.ClientProxyConnectionError)
        looked_at = "the proxy of the environment" if is_proxy else "the network, firewall and proxy"
        words = f"{where} cannot be reached{cause}; check {looked_at}"
    elif isinstance(error, aiohttp.ClientHttpProxyError):
        words = "the proxy refuses it; check the proxy of the environment"
    elif isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        words = "the answer is no whole HTTP"
    else:
        words = "the connection broke"
    return f"{words} ({name})"


def _cause(error: OSError) -> str:
    known = error.errno is not None and error.errno > 0
    return f" ({os.strerror(error.errno)})" if known and error.errno is not None else ""


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Sent once: by itself aiohttp repeats some requests whose connection broke, and each is counted and limited here.

    The loop takes notice of the connections that were closed meanwhile before one of them is chosen.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Dropped(type(error).__name__) from None


def _read(headers: tuple[tuple[bytes, bytes], ...]) -> dict[str, str]:
    """What is said several times is one list."""
    read: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), _text(raw_value)
        read[name] = f"{read[name]}, {value}" if name in read else value
    return read


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
