"""A log the forge keeps elsewhere: its end, read from the address the forge named, without anything of ours.

The other host is nobody we know: no token, no cookie, no further redirect, a bounded number of bytes, none unpacked.
"""

import asyncio
from collections import deque

import httpx

from overlord.adapters.http import is_loopback, open_client
from overlord.errors import ForgeUnavailable

MOST_BYTES = 4 * 1024 * 1024
"""More is never read of one log, however long it is."""
WORTH_REPEATING = frozenset({408, 429})
WHAT = "the log of a check"


async def read_tail(address: str, *, forge_url: str, limit_bytes: int, timeout_s: float) -> str:
    """The last `limit_bytes` of what is at `address`; empty when it cannot be had or may not be asked for.

    Raises ForgeUnavailable when there was no answer this time, within `timeout_s` seconds in all.
    """
    limit_bytes = min(limit_bytes, MOST_BYTES)
    if limit_bytes <= 0 or not _may_be_asked(address, forge_url):
        return ""
    try:
        async with asyncio.timeout(timeout_s), open_client(address, httpx.Timeout(timeout_s)) as client:
            tail = await _tail(client, address, limit_bytes)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise ForgeUnavailable(f"{WHAT}: {type(error).__name__}") from None
    except TimeoutError:
        raise ForgeUnavailable(f"{WHAT}: no answer within {timeout_s:g} s") from None
    return tail.decode(errors="replace")


def _may_be_asked(address: str, forge_url: str) -> bool:
    """Only https is; plain http for a forge on this machine that is asked that way itself, and there alone."""
    try:
        asked, forge = httpx.URL(address), httpx.URL(forge_url)
        if asked.scheme == "https":
            return bool(asked.host)
        is_local = forge.scheme == "http" and is_loopback(forge_url) and is_loopback(address)
    except (httpx.InvalidURL, ValueError):
        return False
    return asked.scheme == "http" and is_local


async def _tail(client: httpx.AsyncClient, address: str, limit_bytes: int) -> bytes:
    """The end; where the whole is too long to read, the end is asked for alone."""
    length, tail = await _read_end(client, address, limit_bytes)
    if tail is None and length is not None:
        _, tail = await _read_end(client, address, limit_bytes, begin=length - limit_bytes)
    return tail or b""


async def _read_end(
    client: httpx.AsyncClient, address: str, limit_bytes: int, *, begin: int | None = None
) -> tuple[int | None, bytes | None]:
    """How long the answer says it is, and its end; None for an end that is too far away."""
    headers = {"accept": "text/plain, */*", "accept-encoding": "identity"}
    wanted = 200 if begin is None else 206
    if begin is not None:
        headers["range"] = f"bytes={begin}-"
    async with client.stream("GET", address, headers=headers) as response:
        if response.status_code >= 500 or response.status_code in WORTH_REPEATING:
            raise ForgeUnavailable(f"{WHAT}: {response.status_code}")
        if (
            response.status_code != wanted
            or response.headers.get("content-encoding", "identity") != "identity"
        ):
            return None, b""
        length = _length(response)
        if length is not None and length > MOST_BYTES:
            return length, None
        return length, await _end(response, limit_bytes)


def _length(response: httpx.Response) -> int | None:
    content_length = response.headers.get("content-length", "")
    return int(content_length) if content_length.isascii() and content_length.isdecimal() else None


async def _end(response: httpx.Response, limit_bytes: int) -> bytes | None:
    """The last bytes of an answer; None if it is longer than it may be."""
    kept: deque[bytes] = deque()
    read = buffered = 0
    async for chunk in response.aiter_raw():
        read, buffered = read + len(chunk), buffered + len(chunk)
        if read > MOST_BYTES:
            return None
        kept.append(chunk)
        while buffered - len(kept[0]) >= limit_bytes:
            buffered -= len(kept.popleft())
    return b"".join(kept)[-limit_bytes:]
