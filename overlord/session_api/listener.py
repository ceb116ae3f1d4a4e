"""One session's listener: a unix socket in a directory of its own. Whoever is connected to it is that session."""

import asyncio
import contextlib
import os
import shutil
import socket
import struct
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from overlord.http_server import BACKLOG, ConnectionLimits, LimitedServer
from overlord.session_api import wire
from overlord.session_api.cut_off import answer_or_abort
from overlord.session_api.limits import BodyMemory, SessionLimits

log = structlog.get_logger()


@contextlib.contextmanager
def _descriptor_of(directory: Path) -> Iterator[int]:
    """The directory, open. A socket is bound through it: the path it is bound by is shown to the session in /proc/net/unix, and is to
    hold nothing of this machine."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


CLOSING_S = 5.0


class SessionApp:
    """The application as one session reaches it: it knows whose a request is, and answers so many of them at a time."""

    def __init__(self, app: ASGIApp, *, session_id: str, limits: SessionLimits, sessions: int) -> None:
        self._app = app
        self._session_id = session_id
        self._memory = BodyMemory(limits.body_bytes)
        self._turns = asyncio.Semaphore(limits.requests_each(sessions))
        self._waiting = 0
        self._most_waiting = limits.connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with bound_contextvars(session_id=self._session_id), self._memory.part() as part:
            scope["overlord.session"] = self._session_id
            scope["overlord.body"] = part
            await answer_or_abort(self._in_turn, scope, receive, send)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Their clients may have left, which a request that waits does not notice.
        if self._waiting >= self._most_waiting:
            answer = wire.error_response(
                503, "too_many_requests", "too many requests wait: try again", scope["path"]
            )
            await answer(scope, receive, send)
            return
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._turns.release()


class SessionListener:
    """Serves one session. `sessions` counts those that are served now: what one may take depends on it."""

    def __init__(
        self,
        path: Path,
        app: SessionApp,
        *,
        session_id: str,
        limits: SessionLimits,
        sessions: Callable[[], int],
        users: Container[int] | None = None,
    ) -> None:
        """`users`: whose programs are let in, by uid; None lets everybody in who reaches the socket."""
        self._path = path
        self._session_id = session_id
        self._users = users
        self._server = LimitedServer(
            app,
            limits=ConnectionLimits(header_s=limits.header_s),
            allowed=lambda: limits.connections_each(sessions()),
            admits=self._is_ours,
            refused=self._note_refused,
        )
        self._inode = 0

    def open(self) -> None:
        """Begin to listen. Raises OSError."""
        directory = self._path.parent
        # The session's user is another one than ours: the directory above is closed to everybody, this one is not.
        directory.mkdir(parents=True, exist_ok=True)
        directory.parent.chmod(0o711)
        directory.chmod(0o755)
        self._path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _descriptor_of(directory) as place:
                listening.bind(f"/proc/self/fd/{place}/{self._path.name}")
            self._path.chmod(0o666)
            self._inode = self._path.stat().st_ino
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
        self._server.listen(listening)

    def _is_ours(self, accepted: socket.socket) -> bool:
        """Whether a session's user is at the other end: the socket is open to everybody who finds it, since that is another user
        than ours."""
        if self._users is None:
            return True
        uid = struct.unpack("iII", accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in self._users:
            log.warning("session_socket_refused_a_user", session_id=self._session_id, uid=uid)
        return uid in self._users

    def _note_refused(self) -> None:
        log.warning("session_has_too_many_connections", session_id=self._session_id)

    async def stop_listening(self) -> None:
        try:
            await self._server.stop_listening()
        finally:
            self._unlink()

    def _unlink(self) -> None:
        # Gone, or on a disk that takes no change: the next one to open it looks. Another inode is another daemon's
        # socket, once this one was replaced.
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    async def close(self, *, keep_directory: bool = False) -> None:
        await self.stop_listening()
        for connection in self._server.connections:
            connection.shutdown()
        if running := self._server.tasks:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=CLOSING_S)  # a model call is settled before the database goes
        for connection in self._server.connections:
            connection.transport.close()  # one whose call was cancelled before it had begun answers nobody
        if not keep_directory:
            await asyncio.to_thread(shutil.rmtree, self._path.parent, ignore_errors=True)
