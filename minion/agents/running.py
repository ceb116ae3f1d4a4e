"""A program of an agent while it runs: in a process group of its own, its output read in bounded lines, its life watched, and
ended with everything it started.

All of it happens on the thread that reads, so that no signal and no ending meets half a state. What it started and let go of
comes to us as orphans (`descendants.py`) and is ended as well. Files in `/proc` tell how much time its processes have used; where
there are none, its output and what it sends are all there is to go by.
"""

import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from minion.agents.output import Lines
from minion.descendants import adopt_orphans, children, end_all_but
from minion.errors import AgentFailed
from minion.loopback import Traffic

TERM_S = 2.0
"""How long a program that is told to end may take for it."""
IDLE_SHARE = 0.02
"""A program that uses less of one processor than this, and does nothing else, is silent: timers alone are no work."""
CPU_LOOKED_AT_S = 1.0
DRAINED_AFTER_EXIT = 4 * 1024 * 1024
"""Bytes still read from the pipes once the program itself has ended."""
_CHUNK = 65536
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of output."""

    text: str
    is_error: bool = False
    """Whether it came on the standard error stream."""


class RunningProgram:
    """One program. Raises AgentFailed when it cannot be started."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        waiting: Callable[[], AbstractContextManager[None]],
        stdin_text: str = "",
        is_spoken_to: bool = False,
    ) -> None:
        """`waiting` surrounds what may be interrupted. `stdin_text` is all its input; `is_spoken_to` leaves its input open for
        `write`; else it has none."""
        with suppress(OSError, AttributeError):
            adopt_orphans()
        self._known = _children()
        self._exit_notice: int | None = None
        self._waiting = waiting
        self._process = _start(arguments, directory, environment, stdin_text, is_spoken_to=is_spoken_to)
        self.pid = self._process.pid
        self._outgoing = bytearray()
        self._lines: dict[int, Lines] = {}
        self._ready: deque[Line] = deque()
        self._poller = select.poll()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._lines[stream.fileno()] = Lines()
            self._poller.register(stream.fileno(), select.POLLIN)
        with suppress(OSError, AttributeError):
            self._exit_notice = os.pidfd_open(self.pid)  # so that its end is noticed at once
            self._poller.register(self._exit_notice, select.POLLIN)
        self._stdin = self._process.stdin.fileno() if self._process.stdin is not None else None
        if self._stdin is not None:
            os.set_blocking(self._stdin, False)
        self._stderr = max(self._lines)
        if self._process.stderr is not None:
            self._stderr = self._process.stderr.fileno()
        self._exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the program itself has ended; something it started may go on."""
        if self._exit_code is not None:
            return True
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    @property
    def dropped_bytes(self) -> int:
        """How much of its output was let go."""
        return sum(lines.dropped_bytes for lines in self._lines.values())

    def read(self, wait_s: float) -> list[Line]:
        """The lines that have come, after at most so many seconds. Raises Interrupted."""
        if self._outgoing and self._stdin is not None:
            self._poller.register(self._stdin, select.POLLOUT)
        with self._waiting():
            found = self._poller.poll(wait_s * 1000)
        for number, _ in found:
            if number in self._lines:
                self._take(number)
            elif number == self._stdin:
                self._flush()
        return self._taken()

    def drain(self) -> list[Line]:
        """What is still in the pipes of a program that has ended."""
        for number in tuple(self._lines):
            left = DRAINED_AFTER_EXIT
            while left > 0 and (size := self._take(number)):
                left -= size
            self._ready.extend(
                Line(text=text, is_error=number == self._stderr) for text in self._lines[number].end()
            )
        return self._taken()

    def write(self, data: bytes) -> None:
        """Queue input; it is sent while output is read."""
        self._outgoing += data
        self._flush()

    def end(self) -> int | None:
        """End what still runs of it: asked first, then killed, with everything it started. The exit code of a program that had
        ended by itself, 128 + n for a signal; else None."""
        by_itself = self.has_ended
        if not by_itself:
            self._signal(signal.SIGTERM)
            until = time.monotonic() + TERM_S
            while not self.has_ended and time.monotonic() < until:
                self._poller.poll(20)
                for number in self._lines:
                    self._take(number)
        self._signal(signal.SIGKILL)
        if self._exit_code is None:
            self._exit_code = self._process.wait()
        for stream in (self._process.stdout, self._process.stderr, self._process.stdin):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._lines.clear()
        if self._exit_notice is not None:
            os.close(self._exit_notice)
            self._exit_notice = None
        with suppress(OSError):
            end_all_but(self._known)
        code = self._exit_code
        return None if not by_itself else code if code >= 0 else 128 - code

    def cpu_s(self) -> float:
        """The processor time of the program and of all its living descendants, with those that they have waited for."""
        return sum(map(_cpu_ticks, _descendants(self.pid) | (_children() - self._known))) / _TICKS_PER_S

    def _signal(self, number: signal.Signals) -> None:
        if self._exit_code is None:  # until it is reaped, its number can belong to nobody else
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _take(self, number: int) -> int:
        try:
            data = os.read(number, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            with suppress(KeyError, ValueError):
                self._poller.unregister(number)
        self._ready.extend(
            Line(text=text, is_error=number == self._stderr) for text in self._lines[number].add(data)
        )
        return len(data)

    def _taken(self) -> list[Line]:
        ready = list(self._ready)
        self._ready.clear()
        return ready

    def _flush(self) -> None:
        if self._stdin is None:
            return
        try:
            while self._outgoing and (sent := os.write(self._stdin, self._outgoing[:_CHUNK])):
                del self._outgoing[:sent]
        except BlockingIOError:
            return
        except OSError:
            self._outgoing.clear()  # it reads no more
        with suppress(KeyError, ValueError):
            self._poller.unregister(self._stdin)


class Health:
    """Whether a program does anything: output, bytes on their way to or from the session API, or work of its processors."""

    def __init__(self, program: RunningProgram, traffic: Traffic, silent_s: float) -> None:
        self._program = program
        self._traffic = traffic
        self._silent_s = silent_s
        self._passed = traffic.passed_bytes
        self._cpu_s = 0.0
        self._active_at = self._looked_at = time.monotonic()

    def note_active(self) -> None:
        """It has just done something."""
        self._active_at = time.monotonic()

    def is_silent(self) -> bool:
        """Whether nothing of it was seen for as long as it may be silent. A request that nobody has answered yet is no silence."""
        now = time.monotonic()
        if self._traffic.passed_bytes != self._passed or self._traffic.awaited:
            self._passed, self._active_at = self._traffic.passed_bytes, now
        if now - self._looked_at >= min(CPU_LOOKED_AT_S, self._silent_s / 4):
            self._looked_at = now
            used_s = self._program.cpu_s()
            if abs(used_s - self._cpu_s) > IDLE_SHARE * self._silent_s:
                self._cpu_s, self._active_at = used_s, now
        return now - self._active_at > self._silent_s


def _start(
    arguments: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    stdin_text: str,
    *,
    is_spoken_to: bool,
) -> "subprocess.Popen[bytes]":
    with ExitStack() as stack:
        stdin: int | IO[bytes] = subprocess.PIPE if is_spoken_to else subprocess.DEVNULL
        if stdin_text and not is_spoken_to:
            import tempfile  # few agents are given their prompt this way

            stdin = stack.enter_context(tempfile.TemporaryFile())
            stdin.write(stdin_text.encode("utf-8", "replace"))
            stdin.seek(0)
        try:
            return subprocess.Popen(
                arguments,
                cwd=directory,
                env=environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise AgentFailed(f"{arguments[0]} cannot be started: {words}.") from error


def _children() -> frozenset[int]:
    try:
        return children()
    except OSError:
        return frozenset()


def _descendants(pid: int) -> frozenset[int]:
    found, look = {pid}, [pid]
    while look:
        with suppress(OSError):
            for task in Path(f"/proc/{look.pop()}/task").iterdir():
                with suppress(OSError):
                    new = {int(word) for word in (task / "children").read_text().split()} - found
                    found |= new
                    look += new
    return frozenset(found)


def _cpu_ticks(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0
