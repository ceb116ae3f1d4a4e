"""`overlord` as a process of its own that has imported everything already: forked from the server that the campaign has too.

It is a process in all that counts, killed and interrupted as any other. Only its start is not the program's: that takes three
quarters of a second, and whether a program starts is told by those tests that start one.
"""

import asyncio
import fcntl
import multiprocessing
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.faults.unswept", "pytest", "tests.faults.warm"])


class Handed:
    """A descriptor that arrives in the process it is handed to."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Callable[[Any], "Handed"], tuple[Any]]:
        return _arrived, (reduction.DupFd(self.descriptor),)


def _arrived(handed: Any) -> Handed:
    return Handed(handed.detach())


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A command as it is typed: where, with which environment and streams."""

    words: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    streams: tuple[Handed, Handed, Handed]
    at_terminal: bool = False


def _enter(typed: Typed) -> None:
    """Become the program that was typed."""
    for number, stream in enumerate(typed.streams):
        os.dup2(stream.descriptor, number)
        os.close(stream.descriptor)
    if typed.at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(typed.cwd)
    os.environ.clear()
    os.environ.update(typed.environment)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    buffering = 1 if typed.at_terminal else -1
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False, buffering=buffering)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.argv = ["overlord", *typed.words]
    from overlord.entrypoints.cli.main import main
    from overlord.entrypoints.terminal import show

    show.console.__init__(highlight=False)  # type: ignore[misc] # they look at the terminal when they are made
    show.error_console.__init__(stderr=True, highlight=False)  # type: ignore[misc]
    main()


class Forked:
    """A command that runs, as much of `asyncio.subprocess.Process` as tests use."""

    def __init__(self, typed: Typed) -> None:
        self._process: ForkServerProcess = FORKS.Process(target=_enter, args=(typed,))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self._process.sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode
