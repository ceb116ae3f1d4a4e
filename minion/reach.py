"""The way to a session API on another machine: a unix socket of this session's own, each of whose connections is carried over TLS.

All else of the Minion speaks to that socket, as where the session API is on the same machine. The listener at the far end is asked
with `CONNECT <session>` and the session's token; what it says instead of "200" goes to who connected.
"""

import asyncio
import contextlib
import os
import ssl
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from minion.errors import BadStart

URL, TOKEN, AUTHORITY, CONNECT = "OVERLORD_URL", "OVERLORD_TOKEN", "OVERLORD_AUTHORITY", "OVERLORD_CONNECT"
SECRETS = (TOKEN, AUTHORITY, CONNECT)
"""What no program that the session starts is told."""
REACHED_IN_S = 20.0
KNOWN_IN_S = 5.0
AGAIN_S = 0.1
LEAVING_S = 2.0
CHUNK = 65536
LONGEST_ANSWER = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class FarEnd:
    """Where the session listener is, and how one gets in."""

    host: str
    """The name its certificate is for."""
    address: tuple[str, int]
    """Where to connect to."""
    session: str
    token: str
    context: ssl.SSLContext

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "FarEnd":
        """As the environment says. Raises BadStart with the name of the variable that is wrong."""
        url = urlsplit(environment.get(URL, ""))
        try:
            connect = urlsplit(f"//{environment[CONNECT]}") if environment.get(CONNECT) else url
            host, address = url.hostname, (connect.hostname or "", connect.port or 443)
        except ValueError as error:
            raise BadStart(f"{URL} or {CONNECT} has no port that can be: {error}") from None
        if url.scheme != "https" or not host or not address[0]:
            raise BadStart(f"{URL} must be https://host:port, not {environment.get(URL)!r}")
        for name in (TOKEN, AUTHORITY, "MINION_ID"):
            if not environment.get(name):
                raise BadStart(f"{URL} is on another machine, and {name} is not set")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what is trusted need not be a root
        try:
            context.load_verify_locations(cadata=environment[AUTHORITY])
        except (ssl.SSLError, ValueError) as error:
            raise BadStart(f"{AUTHORITY} holds no certificate: {error}") from None
        return cls(
            host=host,
            address=address,
            session=environment["MINION_ID"],
            token=environment[TOKEN],
            context=context,
        )


class Reach:
    """A unix socket that leads to the far end, served by a thread of its own until the program ends."""

    def __init__(self, far_end: FarEnd) -> None:
        self._far_end = far_end
        self._said = ""
        self._directory = Path(tempfile.mkdtemp(prefix="reach-"))  # its owner's alone
        self.socket = self._directory / "s"
        self._carried: set[asyncio.Task[None]] = set()
        ready = threading.Event()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._serve(ready),), name="reach", daemon=True
        )
        self._thread.start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._leave = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_unix_server(self._carry, str(self.socket), limit=CHUNK)
        ready.set()
        await self._leave.wait()
        server.close()
        for task in self._carried:
            task.cancel()
        await asyncio.gather(*self._carried, return_exceptions=True)
        await asyncio.sleep(0)  # connections that were just aborted are let go of

    def close(self) -> None:
        """Carry nothing any more, and remove the socket."""
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(LEAVING_S)
        with contextlib.suppress(OSError):
            self.socket.unlink()
            self._directory.rmdir()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carried.add(task)
        try:
            await self._carried_through(reader, writer)
        finally:
            self._carried.discard(task)
            writer.transport.abort()

    async def _carried_through(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.wait_for(self._connected(), REACHED_IN_S)
        except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError) as error:
            self._say(error)
            return  # who connected tries again, for as long as it has patience
        except _Refused as refused:
            writer.write(refused.answer)
            await _flushed(writer)
            return
        ways = {
            asyncio.ensure_future(_pump(reader, far_writer)),
            asyncio.ensure_future(_pump(far_reader, writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            await _flushed(writer)
        finally:
            for way in ways:
                way.cancel()
            far_writer.transport.abort()
            await asyncio.wait(ways)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        far = self._far_end
        until = self._loop.time() + KNOWN_IN_S
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    *far.address, ssl=far.context, server_hostname=far.host, limit=CHUNK
                )
                break
            except ssl.SSLError:
                raise
            except OSError:
                # Names and addresses of a network of containers are known a moment after they are there.
                if self._loop.time() >= until:
                    raise
                await asyncio.sleep(AGAIN_S)
        try:
            writer.write(
                f"CONNECT {far.session} HTTP/1.1\r\nauthorization: Bearer {far.token}\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"HTTP/1.1 200 "):
                return reader, writer
            refused = _Refused(head + await reader.read(LONGEST_ANSWER))
        except BaseException:
            writer.transport.abort()
            raise
        writer.transport.abort()
        raise refused

    def _say(self, error: Exception) -> None:
        """Tell whoever reads the session's log why, once for each reason."""
        address = "{}:{}".format(*self._far_end.address)
        said = f"minion: the session listener at {address} cannot be reached: {_words(error)}"
        if said != self._said:
            self._said = said
            print(said, file=sys.stderr, flush=True)


class _Refused(Exception):
    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        clock = (
            "; is this machine's clock right?"
            if "yet valid" in error.verify_message or "expired" in error.verify_message
            else ""
        )
        return f"its certificate is not trusted: {error.verify_message}{clock}"
    return str(error) or type(error).__name__


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """Close, once what was written is gone."""
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()


def reached(environment: Mapping[str, str]) -> tuple[dict[str, str], Reach]:
    """Open the way to a session API on another machine: the environment as if it were on this one. Raises BadStart.

    The token leaves this process's own environment too: no program it starts is given it.
    """
    reach = Reach(FarEnd.of(environment))
    for name in SECRETS:
        os.environ.pop(name, None)
    near = {name: value for name, value in environment.items() if name not in SECRETS}
    os.environ[URL] = near[URL] = f"unix://{reach.socket}"
    return near, reach
