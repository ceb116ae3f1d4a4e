"""Sessions as processes of this machine, for where no container engine is. It isolates nothing, and says so.

A session is a directory under `root`; its files (see `process_shim.py`) are all the state there is, so a
restarted daemon finds every session again. Who is running is told by process id, start tick and boot together,
so an id that was given out again is never mistaken for a session.
"""

import asyncio
import json
import os
import re
import select
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import minion
from overlord.adapters.authorities import authorities
from overlord.adapters.ending import Endings, harmless
from overlord.adapters.process import shim as process_shim
from overlord.adapters.process.agents import find_program, program_version, search_path
from overlord.adapters.process.layers import ProcessLayers
from overlord.adapters.trash import Trash
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.failpoints import Failpoint, outward

_SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_FOREIGN_SIGNALS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_LAST_RESORT_S = 5.0
"""How long after the grace the shim may take to end a tree before that is done from here."""
_SWEEPS = 200


class ProcessRunner:
    """Runs each session's program as a detached process tree below `root`.

    `command` is the Minion's program. It gets the launch's environment and PATH, HOME, LANG, MINION_WORK,
    OVERLORD_URL and what Python needs to import the Minion; nothing else of the daemon's own.
    """

    name = "process"
    capabilities = RunnerCapabilities(isolates_files=False, isolates_network=False, limits_memory=False)

    def __init__(
        self, root: Path, *, command: Sequence[str] = (sys.executable, "-P", "-m", "minion")
    ) -> None:
        self._root = root
        self._trash = Trash(root / ".trash")
        self._layers = ProcessLayers(root / ".layers", self._trash, python=command[0])
        self._command = tuple(command)
        self._endings = Endings()
        self._watched: dict[SessionId, int] = {}
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    @outward(Failpoint.START_SESSION)
    async def start(self, launch: Launch) -> None:
        directory = self._directory(launch.session)
        fresh = not (directory / "started").exists()
        if fresh and launch.agent is not None:
            find_program(launch.agent, search_path(self._command[0]))
        if fresh:
            await self._spawn(directory, launch)
        if not self._watch(launch.session) and fresh:
            self._endings.notify(launch.session)  # it was over before it could be watched

    async def find(self, session: SessionId) -> Running | None:
        directory = self._directory(session)
        if not (directory / "started").exists():
            return None
        alive = self._watch(session)
        # Read after looking for life: a session that ended in between has written its ending by now.
        ended = None if alive else _ending(directory)
        return Running(session=session, ending=ended)

    async def sessions(self) -> Sequence[Running]:
        found = [await self.find(SessionId(entry.name)) for entry in self._entries()]
        return [running for running in found if running is not None]

    @outward(Failpoint.STOP_SESSION)
    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        directory = self._directory(session)
        shim = _open_shim(directory)
        if shim is None:
            await self._sweep(session)
            return
        try:
            process_shim.write_whole(f"{directory}/stop", {"grace_s": grace_s})
            _signal(shim, signal.SIGTERM)
            if not await _has_ended(shim, within_s=grace_s + _LAST_RESORT_S):
                _signal(shim, signal.SIGKILL)
                await _has_ended(shim, within_s=_LAST_RESORT_S)
                await self._sweep(session)
        finally:
            os.close(shim)

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        parts = [self._directory(session) / name for name in ("log.1", "log")]
        return harmless(b"".join(_content(part) for part in parts), limit_bytes=limit_bytes)

    @outward(Failpoint.REMOVE_SESSION)
    async def remove(self, session: SessionId) -> None:
        directory = self._directory(session)
        if not directory.exists():
            return
        await self.stop(session, grace_s=0)
        self._forget(session)
        self._trash.discard(directory)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:  # noqa: ARG002 - one machine for all
        return await program_version(program, search_path(self._command[0]))

    async def ground(self, image: str, *, space: str = "") -> str:  # noqa: ARG002 - one ground for all
        return self._layers.ground(image)

    @outward(Failpoint.PREPARE_LAYER)
    async def prepare_layer(
        self,
        key: str,
        *,
        image: str,  # noqa: ARG002
        packages: Sequence[str],  # noqa: ARG002
        space: str = "",  # noqa: ARG002
    ) -> None:
        # System packages are this machine's own affair: a program that is missing says so when it is called.
        self._layers.prepare(key)

    @outward(Failpoint.KEEP_LAYER)
    async def keep_layer(self, session: SessionId, key: str) -> int:  # noqa: ARG002 - it wrote where it belongs
        return await asyncio.to_thread(self._layers.keep, key)

    async def has_layer(self, key: str) -> bool:
        return self._layers.has(key)

    @outward(Failpoint.REMOVE_LAYER)
    async def remove_layer(self, key: str) -> None:
        self._layers.remove(key)

    async def downloads(self) -> Sequence[str]:
        return self._layers.cached()

    @outward(Failpoint.REMOVE_DOWNLOADS)
    async def remove_downloads(self, space: str) -> None:
        self._layers.forget_cache(space)

    async def follow(self) -> AsyncIterator[SessionId]:
        for entry in self._entries():
            self._watch(SessionId(entry.name))
        async for session in self._endings.follow():
            yield session

    async def close(self) -> None:
        for session in list(self._watched):
            self._forget(session)
        self._endings.close()

    def _directory(self, session: SessionId) -> Path:
        if not _SESSION_NAME.fullmatch(session):
            raise RunnerRefused(
                f"{session!r} cannot be a session's id: use letters, digits, '-', '_' and '.'"
            )
        return self._root / session

    def _entries(self) -> Sequence[Path]:
        return sorted(entry for entry in self._root.iterdir() if _SESSION_NAME.fullmatch(entry.name))

    async def _spawn(self, directory: Path, launch: Launch) -> None:
        for name in ("home", "work"):
            (directory / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        shim = await asyncio.create_subprocess_exec(
            *(*process_shim.beginning(sys.executable), str(directory), *self._command),
            env=self._environment(directory, launch),
            cwd=directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, last_words = await shim.communicate()
        if shim.returncode:
            output = harmless(last_words, limit_bytes=500)
            raise RunnerUnavailable(f"session {launch.session} could not be started here: {output}")

    def _environment(self, directory: Path, launch: Launch) -> dict[str, str]:
        return {
            "PATH": search_path(self._command[0]),
            "HOME": str(directory / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(minion.__file__).parent.parent),
            **launch.environment,
            "MINION_WORK": str(directory / "work"),
            **self._shared_paths(launch),
            "OVERLORD_URL": f"unix://{launch.session_api}/s",
        }

    def _shared_paths(self, launch: Launch) -> dict[str, str]:
        """Where a session finds what it shares with others."""
        found = {}
        if launch.layer:
            found["MINION_ENVIRONMENT"] = str(self._layers.directory(launch.layer))
        if launch.makes_layer:
            cache = self._layers.cache(launch.space)
            cache.mkdir(parents=True, exist_ok=True)
            found["MINION_CACHE"] = str(cache)
            if trusted := authorities():
                found["SSL_CERT_FILE"] = str(trusted)
        if launch.ready is not None:
            found["MINION_READY"] = str(launch.ready)
        return found

    def _watch(self, session: SessionId) -> bool:
        """Whether the session lives; if so its end will be told."""
        if (known := self._watched.get(session)) is not None:
            if not _is_over(known):
                return True
            self._on_end(session)
            return False
        shim = _open_shim(self._directory(session))
        if shim is None:
            return False
        self._watched[session] = shim
        asyncio.get_running_loop().add_reader(shim, self._on_end, session)
        return True

    def _on_end(self, session: SessionId) -> None:
        self._forget(session)
        self._endings.notify(session)

    def _forget(self, session: SessionId) -> None:
        shim = self._watched.pop(session, None)
        if shim is not None:
            asyncio.get_running_loop().remove_reader(shim)
            os.close(shim)

    async def _sweep(self, session: SessionId) -> None:
        """Kill what is left of a session whose shim was killed: processes that still carry its directory's name.
        One that also cleared its environment is not found: without a container nothing ties it to us."""
        directory = self._directory(session)
        if not (directory / "started").exists() or (directory / "ended").exists():
            return
        mark = f"MINION_WORK={directory}/work\0".encode()
        for _ in range(_SWEEPS):
            left = [pid for pid, _, _ in process_shim.processes() if mark in _environ(pid)]
            for pid in left:
                _kill(pid)
            if not left:
                return
            await asyncio.sleep(0.01)


def _open_shim(directory: Path) -> int | None:
    """A pidfd of the session's living shim. Opened first and compared after: the id cannot change hands in between."""
    try:
        started = json.loads((directory / "started").read_text())
        shim = os.pidfd_open(started["pid"])
    except (FileNotFoundError, ProcessLookupError):
        return None
    state = process_shim.state_of(started["pid"])
    if state is None or state[1] != started["tick"] or process_shim.boot_id() != started["boot"]:
        os.close(shim)
        return None
    return shim


def _is_over(shim: int) -> bool:
    poll = select.poll()
    poll.register(shim, select.POLLIN)
    return bool(poll.poll(0))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _signal(shim: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(shim, number)
    except ProcessLookupError:
        return


async def _has_ended(shim: int, *, within_s: float) -> bool:
    """Whether the process behind a pidfd ends within a time. On a descriptor of its own: a loop reads each but once."""
    loop, ended, own = asyncio.get_running_loop(), asyncio.Event(), os.dup(shim)
    loop.add_reader(own, ended.set)
    try:
        async with asyncio.timeout(within_s):
            await ended.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(own)
        os.close(own)
    return True


def _ending(directory: Path) -> Ending:
    stopped = (directory / "stop").exists()
    try:
        record = json.loads((directory / "ended").read_text())
    except FileNotFoundError:
        return _unexplained(directory, stopped=stopped)
    code, number = record["exit_code"], record["signal"]
    detail = signal.Signals(number).name if number > 0 else ""
    if stopped:
        return Ending(kind=EndKind.STOPPED, exit_code=code, detail=detail)
    kind = EndKind.KILLED if number in _FOREIGN_SIGNALS else EndKind.EXITED
    return Ending(kind=kind, exit_code=code, detail=detail)


def _unexplained(directory: Path, *, stopped: bool) -> Ending:
    if stopped:
        return Ending(kind=EndKind.STOPPED, detail="killed after its grace")
    if json.loads((directory / "started").read_text())["boot"] != process_shim.boot_id():
        return Ending(kind=EndKind.LOST, detail="the machine was restarted")
    return Ending(kind=EndKind.KILLED, detail="its process was killed from outside")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
