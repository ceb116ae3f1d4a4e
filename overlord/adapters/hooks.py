"""Operators' programs as processes of Overlord's own user, outside any session.

There is no shell, and of Overlord's environment a program gets only where programs are found and whose home it is: no secret, and
nothing that a program started by it could pass on. Each is the leader of a process group, which is ended as a whole when the program
has ended, takes too long or says too much, and at once when Overlord is told to end: no daemon waits for one.
"""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from overlord.domain.hooks import (
    ASKING,
    MOST_SAID_BYTES,
    REASON_CHARS,
    Hook,
    HookAnswer,
    HookCall,
    HookFailure,
    HookProgram,
    HookRun,
    judged,
)
from overlord.domain.text.plain import visible

AT_ONCE = 4
"""Programs that run at the same time, over all points; the clock of one that waits has not begun."""
LEAVE_S = 1.0
"""How long is waited for the last words of a program that has ended."""
STOPPED = "Overlord is told to end"

Programs = Callable[[Hook, str], Sequence[HookProgram]]
"""What the settings name now for a point and a space."""
Note = Callable[[HookCall, HookFailure], Awaitable[None]]


class ProcessHooks:
    """`ports.Hooks`. `directory` is where the programs work; it is made when one is first called."""

    def __init__(
        self,
        directory: Path,
        *,
        programs: Programs,
        redact: Callable[[str], str],
        note: Note,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._directory = directory
        self._programs = programs
        self._redact = redact
        self._note = note
        self._environment = {
            "PATH": environment.get("PATH", os.defpath),
            "HOME": environment.get("HOME", str(directory)),
            "LANG": environment.get("LANG", "C.UTF-8"),
        }
        self._places = {is_asking: asyncio.Semaphore(AT_ONCE) for is_asking in (True, False)}
        self._under_way: set[int] = set()
        self._is_closed = False

    async def ask(self, call: HookCall) -> HookAnswer:
        """Run what the settings name, side by side."""
        programs = self._programs(call.hook, call.space)
        if not programs:
            return HookAnswer()
        document = self._redact(call.document()).encode()
        runs = await asyncio.gather(*(self._run(call.hook, program, document) for program in programs))
        answer = judged(call.hook, runs)
        for failure in answer.failures:
            await self._note(call, failure)
        return answer

    async def close(self) -> None:
        """End what runs, and begin nothing more."""
        self._is_closed = True
        for process in self._under_way:
            _end_group(process)

    async def _run(self, hook: Hook, program: HookProgram, document: bytes) -> HookRun:
        async with self._places[hook in ASKING]:  # who only watches takes no place of who is waited for
            if self._is_closed:
                return HookRun(program=program, problem=STOPPED, is_stopped=True)
            try:
                return await self._conversation(hook, program, document)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                return HookRun(program=program, problem=f"it cannot be started: {why}")

    async def _conversation(self, hook: Hook, program: HookProgram, document: bytes) -> HookRun:
        transport, talk = await self._started(hook, program)
        self._under_way.add(transport.get_pid())
        problem = ""
        try:
            if isinstance(pipe := transport.get_pipe_transport(0), asyncio.WriteTransport):
                pipe.write(document)
                pipe.write_eof()
            async with asyncio.timeout(0 if self._is_closed else program.timeout_s):
                await talk.is_over.wait()
        except TimeoutError:
            problem = f"it was not done within {program.timeout_s} s"
        finally:
            self._under_way.discard(transport.get_pid())
            await _end(transport, talk)
        if self._is_closed:
            return HookRun(program=program, problem=STOPPED, is_stopped=True)
        if talk.is_too_much:
            problem = f"it said more than {MOST_SAID_BYTES // 1024} KiB"
        code = None if problem else transport.get_returncode()
        return HookRun(program=program, exit_code=code, said=self._shown(talk.said), problem=problem)

    async def _started(self, hook: Hook, program: HookProgram) -> "_Process":
        """Start it as the leader of a group. Whoever is cancelled meanwhile leaves none: asyncio would end the leader alone."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                _Conversation,
                *words_of(program),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._directory,
                env={**self._environment, "OVERLORD_HOOK": hook.value},
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):
                await _end(*await starting)
            raise

    def _shown(self, said: bytes) -> str:
        text = visible(self._redact(said.decode("utf-8", "replace")))
        line = " ".join(text.split())
        return line if len(line) <= REASON_CHARS else line[: REASON_CHARS - 1] + "…"


class _Conversation(asyncio.SubprocessProtocol):
    """What a program says on standard error, until it is over: asyncio's streams tell no end while a child of it holds the pipe."""

    def __init__(self) -> None:
        self.said = b""
        self.is_over = asyncio.Event()
        self.is_too_much = False
        self._has_exited = asyncio.Event()
        self._is_quiet = asyncio.Event()

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        if len(self.said) <= MOST_SAID_BYTES:
            self.said += data
        if len(self.said) > MOST_SAID_BYTES:
            self.is_too_much = True
            self.is_over.set()

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        if fd == 2:
            self._is_quiet.set()

    def process_exited(self) -> None:
        self._has_exited.set()
        self.is_over.set()

    async def ends(self) -> None:
        """Wait for the end of a program whose group was ended, and for what is in the pipe still."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._has_exited.wait()
                await self._is_quiet.wait()


def words_of(program: HookProgram) -> tuple[str, ...]:
    """What is started: its words, with the user's home in place of a leading `~`."""
    first, *others = program.command
    # Only then is it a path's business: `./notes.sh` as a path is `notes.sh`, which would be sought on the search path.
    return (str(Path(first).expanduser()) if first.startswith("~/") else first, *others)


def program_trouble(program: HookProgram, directory: Path, path: str) -> str:
    """Why a program could not be started now; empty when it could be."""
    first = words_of(program)[0]
    if "/" not in first:
        return "" if shutil.which(first, path=path) else f"there is no {first} on the search path"
    file = directory / first
    if not file.is_file():
        return f"there is no {file}"
    return "" if os.access(file, os.X_OK) else f"{file} may not be executed: chmod +x {file}"


_Process = tuple[asyncio.SubprocessTransport, _Conversation]


async def _end(transport: asyncio.SubprocessTransport, talk: _Conversation) -> None:
    """End the whole group, and have nothing of it left here."""
    _end_group(transport.get_pid())
    await talk.ends()
    transport.close()


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
