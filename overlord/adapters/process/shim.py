"""Stands between the daemon and one session's program: outlives the daemon, keeps the log small, ends the whole tree.

Run as `python -I -S -c … process_shim.py DIRECTORY PROGRAM ARGUMENT…` (see `beginning`); little of the standard library
only, since a session waits for it and each has one. It leaves in
DIRECTORY: `lock` (held while it lives), `started` (who it is), `log` and `log.1` (1 MB each at most) and, last of
all, `ended`. It is the reaper of every process below it, so also one that detached itself is killed at the end.
What it cannot catch: a process that kills the shim itself first, which the same user can always do.
"""

import ctypes
import fcntl
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG_BYTES = 1_000_000
"""Where the log turns over; one older part is kept, as with Docker's `max-file=2`."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


_BEGIN = (
    "import importlib.machinery as m, sys; del sys.argv[0];"
    "exec(m.SourceFileLoader('__main__', sys.argv[0]).get_code('__main__'))"
)
"""Runs a file as the program, as `python FILE` does, but compiles it only when it has changed."""


def beginning(python: str) -> tuple[str, ...]:
    """The command that starts a shim, but for the session's directory and its program."""
    return (python, "-I", "-S", "-c", _BEGIN, __file__)


def processes() -> "Iterator[tuple[int, int, int]]":
    """Every living process: its id, its parent's id, and the clock tick it started at."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (state := state_of(int(name))) is not None:
            yield int(name), state[0], state[1]


def state_of(pid: int) -> tuple[int, int] | None:
    """The parent and the start tick of a living process; None when it is gone or only waits to be reaped."""
    try:
        fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else (int(fields[1]), int(fields[19]))


def boot_id() -> str:
    """What tells one start of this machine from another, since start ticks count from there."""
    return _content("/proc/sys/kernel/random/boot_id").decode().strip()


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def write_whole(path: str, record: "dict[str, int | float | str]") -> None:
    """Write a record as JSON so that whoever looks sees all of it or nothing. Its texts need no escapes."""
    lines = [
        f'"{name}": "{value}"' if isinstance(value, str) else f'"{name}": {value}'
        for name, value in record.items()
    ]
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write("{" + ", ".join(lines) + "}")
    os.replace(f"{path}.new", path)


class Log:
    """The program's output on disk, never more than two parts of LOG_BYTES."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = open(path, "ab", buffering=0)  # noqa: SIM115 - kept for as long as the shim lives
        self.size = 0

    def write(self, data: bytes) -> None:
        """Keep it if the disk has room: a session is not ended for its chatter."""
        try:
            if self.size + len(data) > LOG_BYTES:
                self._turn_over()
            self.size += self.file.write(data) or 0
        except OSError:
            return

    def _turn_over(self) -> None:
        os.replace(self.path, f"{self.path}.1")
        self.file.close()
        self.file = open(self.path, "ab", buffering=0)  # noqa: SIM115
        self.size = 0


class Shim:
    """One program, from its start to the end of the last process it left behind."""

    def __init__(self, directory: str, program: "Sequence[str]") -> None:
        self.directory = directory
        self.program = program
        self.log = Log(f"{directory}/log")
        self.output, self.child_output = os.pipe()
        os.set_blocking(self.output, False)
        self.wake, wake_end = os.pipe()
        for end in (self.wake, wake_end):
            os.set_blocking(end, False)
        self.asked_to_stop = False
        self.kill_at: float | None = None
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)

    def run(self) -> None:
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.pid = self._start(libc)
        os.close(self.child_output)
        status = self._watch()
        self._end_tree()
        self._drain()
        code = os.waitstatus_to_exitcode(status)
        write_whole(
            f"{self.directory}/ended", {"exit_code": code if code >= 0 else 128 - code, "signal": -code}
        )

    def _note(self, number: int, _frame: object) -> None:
        self.asked_to_stop = self.asked_to_stop or number != signal.SIGCHLD

    def _start(self, libc: ctypes.CDLL) -> int:
        mine = os.getpid()
        # A stop that arrives between fork and exec must not fall on our own signal functions and be forgotten.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            return pid
        try:
            self._become_program(libc, mine)
        except OSError as error:
            os.write(2, f"{self.program[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def _become_program(self, libc: ctypes.CDLL, parent: int) -> None:
        os.setsid()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            return
        for target in (1, 2):
            os.dup2(self.child_output, target)
        os.chdir(f"{self.directory}/work")
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.execvp(self.program[0], list(self.program))  # noqa: S606 - a shell would only stand in between

    def _watch(self) -> int:
        """Copy output and pass on signals until the program itself has ended; its wait status."""
        poll = select.poll()
        poll.register(self.output, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._patience_ms()):
                if descriptor == self.wake:
                    os.read(self.wake, 512)
                elif self._copy() == b"":
                    poll.unregister(self.output)
            if (status := self._reap()) is not None:
                return status
            self._pass_on_stop()

    def _patience_ms(self) -> float | None:
        return None if self.kill_at is None else max(0.0, self.kill_at - time.monotonic()) * 1000

    def _pass_on_stop(self) -> None:
        if self.asked_to_stop:
            self.asked_to_stop = False
            os.kill(self.pid, signal.SIGTERM)
            if os.path.exists(order := f"{self.directory}/stop"):
                asked = time.monotonic() + _grace_s(order)
                self.kill_at = asked if self.kill_at is None else min(asked, self.kill_at)
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            os.kill(self.pid, signal.SIGKILL)
            self.kill_at = None

    def _reap(self) -> int | None:
        """Take leave of every child that is done; the program's wait status when it was among them."""
        found = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                return found
            if pid == self.pid:
                found = status

    def _end_tree(self) -> None:
        """Whatever lives below us has a child of ours above it: once there is none, there is nothing."""
        while True:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            for pid in self._descendants():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.002)

    def _descendants(self) -> set[int]:
        children: dict[int, list[int]] = {}
        for pid, parent, _ in processes():
            children.setdefault(parent, []).append(pid)
        found: set[int] = set()
        rest = list(children.get(os.getpid(), ()))
        while rest:
            pid = rest.pop()
            found.add(pid)
            rest.extend(children.get(pid, ()))
        return found

    def _copy(self) -> bytes | None:
        """Bring what was printed to the log: b"" at the end of the output, None when there is nothing now."""
        try:
            data = os.read(self.output, 65536)
        except BlockingIOError:
            return None
        self.log.write(data)
        return data

    def _drain(self) -> None:
        """Take what the pipe still holds, and no more: an escaped writer must not keep us here."""
        for _ in range(256):
            if not self._copy():
                return


def _grace_s(order: str) -> float:
    import json

    return float(json.loads(_content(order))["grace_s"])


def main(arguments: "Sequence[str]") -> None:
    """Detach, then start the program unless another shim of this session did; the parent leaves once that is written."""
    directory = arguments[0]
    ready, ready_end = os.pipe()
    if os.fork():
        os.close(ready_end)
        os._exit(0 if os.read(ready, 1) else 1)
    os.setsid()
    os.close(ready)
    lock = os.open(f"{directory}/lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(ready_end, b"+")
        return
    if not os.path.exists(f"{directory}/started"):
        shim = Shim(directory, arguments[1:])
        state = state_of(os.getpid())
        assert state is not None
        write_whole(f"{directory}/started", {"pid": os.getpid(), "tick": state[1], "boot": boot_id()})
        _let_go(ready_end)
        shim.run()
    else:
        os.write(ready_end, b"+")


def _let_go(ready_end: int) -> None:
    """Tell the starter, and give back its standard streams: nobody may wait for the end of ours."""
    os.write(ready_end, b"+")
    os.close(ready_end)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


if __name__ == "__main__":
    main(sys.argv[1:])
