"""The one way out: HTTP over the session's unix socket, one connection kept open.

A session API that is missing, restarting or cutting connections is waited out, up to a patience; every call may
therefore be sent more than once. What the session API refuses (4xx) is an exception at once.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from minion.errors import BadStart, OutOfBudget, SessionApiGone, SessionApiRefused
from minion.protocol import COMPLETIONS_PATH

Result = TypeVar("Result")

WAITED_OUT = frozenset({500, 502, 503, 504})
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer we hold in memory. The session API's own limit is lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the session API said: a 2xx status and a body."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class _Trouble(Exception):
    """The session API answered that something behind it, or itself, is not well just now."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("door", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class SessionApi:
    """Calls to one session's session API. Two threads take turns; one whose calls last makes its own with `another`."""

    def __init__(
        self,
        path: Path,
        *,
        patience_s: float = 600.0,
        pause: Callable[[float], None] = time.sleep,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        self.path = path
        self.patience_s = patience_s
        self._pause = pause
        self._largest_answer = largest_answer
        self._connection: _UnixConnection | None = None
        self._turns = threading.Lock()

    @classmethod
    def at(cls, url: str, *, patience_s: float) -> "SessionApi":
        """The session API at `unix:///path`, the value of `OVERLORD_URL`."""
        if not url.startswith("unix:///"):
            raise BadStart(f"OVERLORD_URL must be unix:///path/to/socket or https://host:port, not {url!r}")
        return cls(Path(url.removeprefix("unix://")), patience_s=patience_s)

    def another(self, *, patience_s: float) -> "SessionApi":
        """A second connection to the same session API, for another thread."""
        return SessionApi(self.path, patience_s=patience_s, pause=self._pause)

    def call(self, method: str, path: str, body: bytes | None = None, *, timeout_s: float = 60.0) -> Answer:
        """Send one request and return its 2xx answer.

        Raises OutOfBudget for 402, SessionApiRefused for any other refusal (or trouble the session API itself speaks of for
        longer than our patience), SessionApiGone when nobody answered for that long.
        """
        return _accepted(
            self._patiently(f"{method} {path}", lambda: self._in_turn(method, path, body, timeout_s))
        )

    def post(self, path: str, body: bytes, *, timeout_s: float = 60.0) -> Answer:
        return self.call("POST", path, body, timeout_s=timeout_s)

    def hold(self, path: str) -> "PendingPost":
        """Begin a POST on a connection of its own, whose body is sent later."""
        return self._patiently(f"POST {path}", lambda: PendingPost(self.path, path))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _patiently(self, what: str, attempt: Callable[[], Result]) -> Result:
        began: float | None = None
        pause_s = 0.0
        while True:
            try:
                return attempt()
            except (OSError, http.client.HTTPException, _Trouble) as error:
                trouble = error
            now = time.monotonic()
            began = began or now
            if now - began + pause_s > self.patience_s:
                if isinstance(trouble, _Trouble):
                    raise _refusal_of(trouble.answer)
                raise SessionApiGone(
                    f"The session API did not take {what}: {trouble or type(trouble).__name__}"
                )
            self._pause(pause_s)
            pause_s = min(max(2 * pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)

    def _in_turn(self, method: str, path: str, body: bytes | None, timeout_s: float) -> Answer:
        with self._turns:
            return self._once(method, path, body, timeout_s)

    def _once(self, method: str, path: str, body: bytes | None, timeout_s: float) -> Answer:
        connection = self._connected(timeout_s)
        complete = False
        try:
            headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body, headers)
            answer = _read_answer(connection, self._largest_answer)
            complete = True
        finally:
            if not complete:
                self.close()
        # The gateway passes on that the model is busy; anywhere else 429 is a refusal that stays one.
        if answer.status in WAITED_OUT or (answer.status == 429 and path == COMPLETIONS_PATH):
            raise _Trouble(answer)
        return answer

    def _connected(self, timeout_s: float) -> _UnixConnection:
        if self._connection is None:
            self._connection = _UnixConnection(self.path, timeout_s)
        self._connection.timeout = timeout_s
        if self._connection.sock is not None:
            self._connection.sock.settimeout(timeout_s)
        return self._connection


LONGEST_INTERIM = 4096


class PendingPost:
    """A request whose headers are at the session API while its body is still being made.

    The session API of a check session stops listening once it has seen this one, so there is no second try. It says "100
    Continue" when it has: until then nothing may run that could talk to it. Raises SessionApiGone when it does not.
    """

    def __init__(self, session_api: Path, path: str) -> None:
        self._connection = _UnixConnection(session_api, 60.0)
        self._connection.putrequest("POST", path)
        self._connection.putheader("Content-Type", "application/json")
        self._connection.putheader("Transfer-Encoding", "chunked")
        self._connection.putheader("Expect", "100-continue")
        try:
            self._connection.endheaders()
            self._await_continue()
        except OSError as error:
            self.close()
            raise SessionApiGone(f"The session API did not take the check's report: {error}") from error

    def _await_continue(self) -> None:
        # By hand and byte by byte: http.client passes over interim answers, and what follows this one is its to read.
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = self._connection.sock.recv(1)
            if not byte or len(head) > LONGEST_INTERIM:
                raise ConnectionError("it closed")
            head += byte
        if not head.startswith(b"HTTP/1.1 100"):
            raise ConnectionError(head.splitlines()[0].decode("ascii", "replace"))

    def finish(self, body: bytes) -> None:
        """Send the body and wait until it was taken. Raises SessionApiGone or SessionApiRefused."""
        try:
            self._connection.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
            _accepted(_read_answer(self._connection, LARGEST_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            raise SessionApiGone(f"The session API did not take the check's report: {error}") from error
        finally:
            self.close()

    def close(self) -> None:
        self._connection.close()


def _read_answer(connection: _UnixConnection, largest: int) -> Answer:
    response = connection.getresponse()
    if response.length is not None and response.length <= largest:
        return Answer(status=response.status, body=response.read())  # raises when the answer is cut off
    body = response.read(largest)
    if not response.isclosed():
        raise http.client.HTTPException("the answer is larger than we hold")
    return Answer(status=response.status, body=body)


def _accepted(answer: Answer) -> Answer:
    if 200 <= answer.status < 300:
        return answer
    raise _refusal_of(answer)


def _refusal_of(answer: Answer) -> SessionApiRefused:
    code, message = "", ""
    with suppress(ValueError, AttributeError, TypeError):
        error = answer.json()["error"] if b'"error"' in answer.body else {}
        code, message = str(error.get("code") or error.get("type") or ""), str(error.get("message") or "")
    message = message or answer.body[:500].decode("utf-8", "replace") or "no reason given"
    kind = OutOfBudget if answer.status == 402 else SessionApiRefused
    return kind(answer.status, code or "unknown", message)
