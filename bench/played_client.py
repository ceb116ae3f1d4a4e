"""A session's way to the session API on another machine, in asyncio: TLS, `CONNECT`, then HTTP/1.1, as `minion/reach.py` and
`minion/session_api.py` do it with threads. And git's push by its wire protocol, with a pack that holds one commit.
"""

import asyncio
import contextlib
import hashlib
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from minion.protocol import REPOSITORY_PATH
from minion.reach import REACHED_IN_S, FarEnd

PATIENCE_S = 90.0
PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
ANSWERED_IN_S = 30.0
WAITED_OUT = frozenset({429, 500, 502, 503, 504})
BLOB, TREE, COMMIT = (3, b"blob"), (2, b"tree"), (1, b"commit")
WHO = "Played <played@example.invalid> 1750000000 +0000"
_TROUBLE = (OSError, EOFError, ssl.SSLError, TimeoutError)


class GivenUp(Exception):
    """The session API refused something, or did not answer for as long as a session waits."""


class _Line:
    """One connection, opened when it is needed."""

    def __init__(self, far_end: FarEnd, source: str, late: list[str]) -> None:
        """`late` takes what had no answer in time."""
        self._far_end = far_end
        self._source = source
        self._late = late
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> bytes:
        """The body of a 2xx answer; what is not well is asked again. Raises GivenUp."""
        loop = asyncio.get_running_loop()
        until, pause_s, trouble = loop.time() + PATIENCE_S, 0.0, ""
        while loop.time() < until:
            try:
                async with asyncio.timeout(ANSWERED_IN_S):
                    status, answer = await self._once(method, path, body, kind or "application/json")
            except _TROUBLE as error:
                self.cut()
                trouble = f"{type(error).__name__} {error}"
                if isinstance(error, TimeoutError):
                    self._late.append(f"{method} {path}")
            else:
                if 200 <= status < 300:
                    return answer
                trouble = f"{status} {answer[:300]!r}"
                if status not in WAITED_OUT:
                    break
            await asyncio.sleep(pause_s)
            pause_s = min(max(2 * pause_s, PAUSE_S), LONGEST_PAUSE_S)
        raise GivenUp(f"{method} {path}: {trouble}")

    async def _once(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        reader, writer = self._streams or await self._connected()
        sent = b"" if body is None else body
        head = f"{method} {path} HTTP/1.1\r\nhost: door\r\ncontent-type: {kind}\r\ncontent-length: {len(sent)}\r\n\r\n"
        writer.write(head.encode() + sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        first, *lines = answer.decode("latin-1").lower().split("\r\n")
        headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        content = await _content(reader, headers)
        if headers.get("connection") == "close":
            self.cut()
        return int(first.split()[1]), content

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        far = self._far_end
        async with asyncio.timeout(REACHED_IN_S):
            reader, writer = await asyncio.open_connection(
                *far.address, ssl=far.context, server_hostname=far.host, local_addr=(self._source, 0)
            )
            self._streams = reader, writer
            writer.write(
                f"CONNECT {far.session} HTTP/1.1\r\nauthorization: Bearer {far.token}\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
        status = head.split()[1]
        if status in {b"401", b"403"}:
            raise GivenUp(f"CONNECT: {head.splitlines()[0].decode()}")
        if status != b"200":
            raise ConnectionError(head.splitlines()[0].decode())
        return reader, writer

    def cut(self) -> None:
        """End the connection without a word."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def _content(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    found = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        found += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return found


@dataclass(frozen=True, slots=True)
class FarSession:
    """What a session's program says: by its own connection, and by that of its heartbeat."""

    _far_end: FarEnd
    _source: str
    _line: _Line
    _beat: _Line
    late: list[str]
    """What it asked that had no answer in time, and was asked again."""

    @classmethod
    @asynccontextmanager
    async def at(cls, far_end: FarEnd, source: str) -> AsyncIterator["FarSession"]:
        """From this address; at the end its connections are gone."""
        late: list[str] = []
        far = cls(far_end, source, _Line(far_end, source, late), _Line(far_end, source, late), late)
        try:
            yield far
        finally:
            far.cut()
            await asyncio.sleep(0)

    async def get(self, path: str) -> bytes:
        return await self._line.call("GET", path)

    async def post(self, path: str, body: bytes) -> bytes:
        return await self._line.call("POST", path, body)

    async def tell(self, path: str, body: bytes) -> None:
        """Say what may be missed, by the heartbeat's connection."""
        with contextlib.suppress(GivenUp):
            await self._beat.call("POST", path, body)

    def cut(self) -> None:
        """End every connection without a word."""
        self._line.cut()
        self._beat.cut()

    async def clone(self, branch: str, head: str) -> None:
        """Fetch the branch as a clone does, on a connection of its own; what comes is not kept."""
        line = _Line(self._far_end, self._source, self.late)
        try:
            shown = await line.call("GET", f"{REPOSITORY_PATH}/info/refs?service=git-upload-pack")
            if f"{head} refs/heads/{branch}".encode() not in shown:
                raise GivenUp(f"its repository does not show {branch} at {head}")
            asked = _packet(f"want {head} no-progress\n") + b"0000" + _packet("done\n")
            kind = "application/x-git-upload-pack-request"
            answer = await line.call("POST", f"{REPOSITORY_PATH}/git-upload-pack", asked, kind)
            if b"PACK" not in answer:
                raise GivenUp("its clone brought no pack")
        finally:
            line.cut()

    async def push(self, branch: str, old: str, commit: "Commit") -> None:
        """Push a commit, on a connection of its own. Raises GivenUp."""
        line, reference = _Line(self._far_end, self._source, self.late), f"refs/heads/{branch}"
        try:
            shown = await line.call("GET", f"{REPOSITORY_PATH}/info/refs?service=git-receive-pack")
            if f"{commit.sha} {reference}".encode() in shown:
                return
            order = _packet(f"{old} {commit.sha} {reference}\0report-status") + b"0000"
            kind = "application/x-git-receive-pack-request"
            path = f"{REPOSITORY_PATH}/git-receive-pack"
            answer = await line.call("POST", path, order + commit.pack, kind)
            if f"ok {reference}".encode() not in answer:
                raise GivenUp(f"push: {answer[:300]!r}")
        finally:
            line.cut()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the pack that brings it."""

    sha: str
    pack: bytes

    @classmethod
    def of(cls, files: Mapping[str, bytes], *, parent: str) -> "Commit":
        """One with these files at its root, and nothing else."""
        objects = [(BLOB, content) for content in files.values()]
        entries = sorted(
            (name.encode(), hashlib.sha1(_whole(BLOB, content), usedforsecurity=False).digest())
            for name, content in files.items()
        )
        tree = b"".join(b"100644 %b\0%b" % entry for entry in entries)
        named = hashlib.sha1(_whole(TREE, tree), usedforsecurity=False).hexdigest()
        text = f"tree {named}\nparent {parent}\nauthor {WHO}\ncommitter {WHO}\n\nPlayed\n".encode()
        objects += [(TREE, tree), (COMMIT, text)]
        body = b"PACK\0\0\0\2" + len(objects).to_bytes(4, "big")
        body += b"".join(_size(kind, content) + zlib.compress(content) for (kind, _), content in objects)
        sha = hashlib.sha1(_whole(COMMIT, text), usedforsecurity=False).hexdigest()
        return cls(sha, body + hashlib.sha1(body, usedforsecurity=False).digest())


def _whole(kind: tuple[int, bytes], content: bytes) -> bytes:
    return b"%b %d\0%b" % (kind[1], len(content), content)


def _size(kind: int, content: bytes) -> bytes:
    """A packed object's head: its kind, and its size in groups of four and then seven bits."""
    size, first = len(content) >> 4, kind << 4 | len(content) & 15
    head = bytearray()
    while size:
        head.append(first | 128)
        size, first = size >> 7, size & 127
    return bytes([*head, first])


def _packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()
