"""Strangers on the wire: the slow, the many and those who speak something else keep nobody out and fill nothing."""

import asyncio
import contextlib

import pytest

from tests.listener.wire import Line, event, exchange, get, heard_world, is_hinted, line, posted

PARTS = {
    "nothing": b"",
    "half a head": b"POST /webhooks/github HTTP/1.1\r\nhost: x\r\nx-a",
    "half a body": posted(event())[:-5],
    "a chunk that never ends": posted(b"", without="content-length", more=b"transfer-encoding: chunked\r\n")
    + b"ffff\r\nabc",
}


async def test_who_does_not_come_to_an_end_is_cut() -> None:
    async with heard_world(patience_s=0.3) as (world, place):
        for name, part in PARTS.items():
            async with line(place) as made:
                made.send(part)
                assert await made.rest() == b"", name
        assert not is_hinted(world)


async def test_who_keeps_too_many_connections_loses_the_oldest() -> None:
    async with (
        heard_world(most_connections=4, patience_s=900) as (world, place),
        contextlib.AsyncExitStack() as stack,
    ):
        held: list[Line] = []
        for _ in range(20):
            held.append(await stack.enter_async_context(line(place)))
            held[-1].send(PARTS["half a body"])
        assert (await get(place, "/healthz")).status == 200
        assert (await exchange(place, posted(event()))).status == 202
        assert is_hinted(world)
        assert await asyncio.gather(*(made.rest() for made in held[:16])) == [b""] * 16


async def test_a_connection_has_one_request() -> None:
    async with heard_world() as (_, place), line(place) as made:
        made.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" * 50)
        said = await made.rest()
        assert said.count(b"HTTP/1.1 200") == 1 and b"connection: close" in said.lower()


ODD = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 40, 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404),
    "two hosts": (b"GET /healthz HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    "a long head": (b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 70_000, 400),
    "a negative length": (posted(event(), content_length="-1"), 400),
    "a length in hexadecimal": (posted(event(), content_length="0x10"), 400),
    "two lengths": (posted(event(), more=b"content-length: 3\r\n"), 400),
    "another encoding": (posted(event(), without="content-length", more=b"transfer-encoding: gzip\r\n"), 400),
    "another protocol": (
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        200,
    ),
    "HTTP/1.0": (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
}


async def test_what_is_no_request_is_refused_and_not_written_down(caplog: pytest.LogCaptureFixture) -> None:
    async with heard_world() as (world, place):
        for name, (request, status) in ODD.items():
            assert (await exchange(place, request)).status == status, name
        assert (await get(place, "/healthz")).status == 200
        assert not is_hinted(world)
        assert caplog.messages == []
