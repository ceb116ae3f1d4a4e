"""Commands: each in a session of its own, killed as a whole when it ends, its output bounded while it arrives.

Nothing a command does can hang the Minion: input is closed, a child that keeps the pipe open is not waited for,
endless output costs no memory, and the time limit kills the whole group.
"""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

DRAINED_AFTER_EXIT = 1024 * 1024
"""Bytes still read from the pipe once the command itself has ended; a pipe holds no more."""
_PASSED_ON = ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "MINION_ID")
_UNPRINTABLE = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended. `exit_code` is 128 + n for a signal, None when it ran out of time."""

    exit_code: int | None
    output: str
    duration_s: float


class KeptOutput:
    """The head and the tail of a stream, and how much was between them."""

    def __init__(self, limit_bytes: int) -> None:
        self._half = max(limit_bytes // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 4 * self._half:
            self._trim()

    def text(self) -> str:
        self._trim()
        head, tail = printable(bytes(self._head)), printable(bytes(self._tail))
        if not self._dropped:
            return printable(bytes(self._head + self._tail))
        return f"{head}\n[… {self._dropped:,} bytes of output left out here; its beginning and end are kept …]\n{tail}"

    def _trim(self) -> None:
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


def printable(data: bytes) -> str:
    """Text without terminal escapes and control characters; bytes that are not UTF-8 become �."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub("", text)


def search_path(text: str) -> str:
    """PATH for commands: this Python's own programs first, so that `python` is the one with the toolchain."""
    return f"{Path(sys.executable).parent}:{text}"


def command_environment(
    start: Mapping[str, str], home: Path, *, tree: Path | None = None, **extra: str
) -> dict[str, str]:
    """What a command is given: a search path, a home and a temporary directory of its own, nothing of ours.

    In a session with an environment also what that holds; its packages then come from `tree`, if one is named.
    Raises BadStart when the environment cannot be used.
    """
    plain = plain_environment(start, home)
    if not start.get("MINION_ENVIRONMENT"):
        return {**plain, **extra}
    from minion.setup.environment import Environment  # a session without one does not pay for it

    made = Environment.of(start)
    return {**(made.around(plain, tree) if made else plain), **extra}


def plain_environment(start: Mapping[str, str], home: Path) -> dict[str, str]:
    """As `command_environment`, for where no environment is, or not yet."""
    for directory in (home / "home", home / "tmp"):
        directory.mkdir(parents=True, exist_ok=True)
    return {
        "LANG": "C.UTF-8",
        **{name: start[name] for name in _PASSED_ON if name in start},
        "PATH": search_path(start.get("PATH", os.defpath)),
        "HOME": str(home / "home"),
        "TMPDIR": str(home / "tmp"),
        # Python would take a stale .pyc for a file that was edited twice within a second without changing size.
        "PYTHONDONTWRITEBYTECODE": "1",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def run(
    arguments: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    keep_bytes: int,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    stdin: int = subprocess.DEVNULL,
) -> Finished:
    """Run one program to its end; `waiting` surrounds the part that may be interrupted.

    Raises OSError when the program cannot be started.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        arguments,
        cwd=directory,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    kept = KeptOutput(keep_bytes)
    try:
        with waiting():
            in_time = _follow(process.pid, process.stdout.fileno(), kept, began + timeout_s)
    finally:
        # The leader is not reaped yet, so its number cannot belong to anyone else.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        code = process.wait()
    exit_code = None if not in_time else code if code >= 0 else 128 - code
    return Finished(exit_code=exit_code, output=kept.text(), duration_s=time.monotonic() - began)


def _follow(pid: int, pipe: int, kept: KeptOutput, until: float) -> bool:
    """Read until the command has ended (True) or its time is up (False)."""
    os.set_blocking(pipe, False)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    at_end = False
    tick_s = 0.00005
    while not _has_ended(pid):
        left_s = until - time.monotonic()
        if left_s <= 0:
            return False
        if at_end:
            time.sleep(min(tick_s, left_s))
            tick_s = min(tick_s * 2, 0.05)
        elif poller.poll(min(left_s, 0.05) * 1000):
            data = os.read(pipe, 65536)
            kept.add(data)
            at_end = not data
    _drain(pipe, kept)
    return True


def _drain(pipe: int, kept: KeptOutput) -> None:
    taken = 0
    with suppress(BlockingIOError):
        while taken < DRAINED_AFTER_EXIT and (data := os.read(pipe, 65536)):
            kept.add(data)
            taken += len(data)


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
