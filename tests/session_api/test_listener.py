"""What one session can take of the daemon through its socket, who is let in there, and what the socket's name tells."""

import asyncio
import logging
import os
import resource
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overlord.http_server import ConnectionLimits, LimitedServer, host_of
from overlord.process_limits import descriptor_limit, raise_descriptor_limit
from overlord.session_api.limits import LEAST_CONNECTIONS, BodyMemory, SessionLimits
from overlord.session_api.listener import SessionApp, SessionListener
from tests.descriptors import no_descriptor_left

REQUEST = b"GET / HTTP/1.1\r\nhost: session\r\n\r\n"
SHORT = SessionLimits(connections=4, header_s=0.05)
PATIENT = SessionLimits(connections=4)


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("hello")(scope, receive, send)


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="l-", dir="/tmp") as made:
        yield Path(made)


@asynccontextmanager
async def listening(
    place: Path,
    limits: SessionLimits,
    app: ASGIApp = hello,
    users: set[int] | None = None,
) -> AsyncIterator[Path]:
    served = SessionApp(app, session_id=place.name, limits=limits, sessions=1)
    listener = SessionListener(
        place / "s", served, session_id=place.name, limits=limits, sessions=lambda: 1, users=users
    )
    listener.open()
    try:
        yield place / "s"
    finally:
        await listener.close()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The first line of what comes back for a request; nothing when the connection was closed instead."""
    writer.write(REQUEST)
    try:
        line = await reader.readline()
    except ConnectionError:
        return b""
    finally:
        writer.close()
    return line.rstrip()


async def asked(path: Path) -> bytes:
    try:
        return await answer(*await asyncio.open_unix_connection(str(path)))
    except ConnectionError:
        return b""


async def test_connections_over_the_limit_close_the_oldest_that_asks_nothing_and_the_session_still_works(
    root: Path,
) -> None:
    async with listening(root / "one", PATIENT) as path:
        half_open = [await asyncio.open_unix_connection(str(path)) for _ in range(12)]
        assert await asked(path) == b"HTTP/1.1 200 OK"
        closed = half_open[:9]
        assert [await reader.read() for reader, _ in closed] == [b""] * 9
        assert [await answer(*left) for left in half_open[9:]] == [b"HTTP/1.1 200 OK"] * 3
        for _, writer in closed:
            writer.close()


async def test_where_every_connection_asks_something_a_further_one_is_refused(root: Path) -> None:
    go, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await go.wait()
        await hello(scope, receive, send)

    server = LimitedServer(slow, limits=ConnectionLimits(header_s=60), allowed=lambda: 2)
    server.listen(_listening_at(root / "s"))
    asking = [asyncio.create_task(asked(root / "s")) for _ in range(2)]
    for _ in asking:
        await begun.acquire()
    reader, writer = await asyncio.open_unix_connection(str(root / "s"))
    assert (await reader.readline()).rstrip() == b"HTTP/1.1 503 Service Unavailable"
    writer.close()
    async with listening(root / "two", PATIENT) as other:
        assert await asked(other) == b"HTTP/1.1 200 OK", "another session notices nothing"
    go.set()
    assert await asyncio.gather(*asking) == [b"HTTP/1.1 200 OK"] * 2
    await server.stop_listening()


async def test_one_address_takes_no_more_than_its_share_and_the_others_notice_nothing() -> None:
    limits = ConnectionLimits(header_s=60, share=2, evicts_busy=True)
    server = LimitedServer(hello, limits=limits, allowed=lambda: 100, host_of=lambda address: address[0])  # type: ignore[index]
    listening = socket.create_server(("127.0.0.1", 0))
    place = listening.getsockname()
    server.listen(listening)

    async def opened(host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*place, local_addr=(host, 0))

    other = await opened("127.0.0.3")
    many = [await opened("127.0.0.2") for _ in range(5)]
    assert [await reader.read() for reader, _ in many[:3]] == [b""] * 3
    assert [await answer(*left) for left in [*many[3:], other]] == [b"HTTP/1.1 200 OK"] * 3
    for _, writer in many[:3]:
        writer.close()
    await server.stop_listening()


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (("127.0.0.1", 1), ""),
        (("::1", 1, 0, 0), ""),
        (("::ffff:127.0.0.1", 1, 0, 0), ""),
        ("", ""),
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 1, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 1, 0, 2), "fe80::/64"),
    ],
)
def test_a_share_is_an_addresss_and_of_ipv6_a_networks(address: object, host: str) -> None:
    assert host_of(address) == host


async def test_requests_over_the_limit_wait_for_their_turn(root: Path) -> None:
    go, begun = asyncio.Event(), list[int]()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(1)
        await go.wait()
        await hello(scope, receive, send)

    async with listening(root / "one", SessionLimits(requests=1), slow) as path:
        asking = [asyncio.create_task(asked(path)) for _ in range(3)]
        while not begun:
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(begun) == 1
        go.set()
        assert await asyncio.gather(*asking) == [b"HTTP/1.1 200 OK"] * 3


async def test_requests_whose_client_has_gone_are_not_kept_without_end(root: Path) -> None:
    go, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await go.wait()
        await hello(scope, receive, send)

    served = SessionApp(slow, session_id="one", limits=SessionLimits(requests=1, connections=4), sessions=1)
    said: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            said.append(message["status"])

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def request() -> None:
        await served(
            {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}, receive, send
        )

    asking = [asyncio.create_task(request()) for _ in range(8)]
    await begun.acquire()
    for _ in range(100):  # one has its turn and four wait
        await asyncio.sleep(0)
    assert said == [503] * 3
    go.set()
    await asyncio.gather(*asking)
    assert said[3:] == [200] * 5


def _listening_at(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost:"])
async def test_a_connection_without_a_whole_header_is_closed_after_a_while(root: Path, sent: bytes) -> None:
    async with listening(root / "one", SHORT) as path:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()


async def test_a_connection_that_is_used_is_not_closed_for_its_age(root: Path) -> None:
    async with listening(root / "one", SHORT) as path:
        reader, writer = await asyncio.open_unix_connection(str(path))
        for _ in range(3):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(5) == b"hello"
        writer.close()


async def test_without_a_descriptor_accepting_rests_is_said_once_and_goes_on(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = LimitedServer(hello, limits=ConnectionLimits(header_s=60, rest_s=0), allowed=lambda: 4)
    listening = _listening_at(root / "s")
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(root / "s"))
    caplog.set_level(logging.WARNING)
    try:
        with no_descriptor_left():
            server.listen(listening)
            for _ in range(20):
                await asyncio.sleep(0)
        said = [record.getMessage() for record in caplog.records]
        assert await answer(*await asyncio.open_unix_connection(sock=client)) == b"HTTP/1.1 200 OK"
    finally:
        client.close()
        await server.stop_listening()
    assert said == ["no connection can be accepted just now: Too many open files"]


def test_all_sessions_together_leave_the_daemon_half_of_its_descriptors() -> None:
    limits = SessionLimits(connections=10**6)
    for sessions in (1, 2, 8):
        assert sessions * limits.connections_each(sessions) * 4 <= descriptor_limit() // 2
    assert limits.connections_each(10**6) == LEAST_CONNECTIONS
    assert SessionLimits().connections_each(1) == SessionLimits().connections


def test_the_soft_limit_on_descriptors_is_raised_and_never_lowered() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        raise_descriptor_limit(600)
        assert descriptor_limit() == min(600, hard if hard != resource.RLIM_INFINITY else 600)
        raise_descriptor_limit(100)
        assert descriptor_limit() != 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_requests_of_one_session_hold_so_much_memory_and_no_more() -> None:
    memory = BodyMemory(100)
    with memory.part() as one:
        one.take(60)
        with memory.part() as other, pytest.raises(HTTPException) as refused:
            other.take(41)
        assert refused.value.status_code == 503
    with memory.part() as one:
        one.take(100)


async def test_who_is_no_sessions_user_is_hung_up_on(root: Path) -> None:
    async with listening(root / "one", PATIENT, users={os.geteuid() + 1}) as path:
        assert await asked(path) == b""
    async with listening(root / "one", PATIENT, users={os.geteuid()}) as path:
        assert await asked(path) == b"HTTP/1.1 200 OK"


async def test_the_name_that_sessions_see_tells_nothing_of_where_the_home_is(root: Path) -> None:
    """A session in a container finds the other end of its connection in /proc/net/unix, with the path it was bound by."""
    async with listening(root / "one", PATIENT) as path:
        reader, writer = await asyncio.open_unix_connection(str(path))
        shown = Path("/proc/net/unix").read_text()
        assert str(root) not in shown
        assert await answer(reader, writer) == b"HTTP/1.1 200 OK"
