"""The programs of coding agents on this machine's search path, for sessions that run as processes."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path

from overlord.domain.agent_programs import executables, installing
from overlord.domain.launch import AgentProgram
from overlord.errors import RunnerRefused

VERSION_S = 10.0
"""The longest a program may take to say its version."""
_LEAVE_S = 5.0
"""The longest what it left in its pipe may take to be read, once it was ended."""
_MOST_BYTES = 4096
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]{0,40}")


def search_path(python: str) -> str:
    """Where sessions find programs: as whoever runs Overlord does, but for the Minion's own Python before all."""
    path = os.environ.get("PATH", os.defpath)
    own = Path(python)
    return os.pathsep.join((str(own.parent), path)) if own.is_absolute() else path


def find_program(program: AgentProgram, path: str) -> str:
    """Where the program is. Raises RunnerRefused, with how to get it, when it is not on this search path."""
    names = executables(program)
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    if not names:
        raise RunnerRefused(
            f"nothing says what the program of {program.program} is called: name it in its agent's command"
        )
    what = " or ".join(names)
    raise RunnerRefused(
        f"{program.program} cannot work here: there is no {what} on the search path that Overlord was started with;"
        f" {installing(program.program)}, or name it with its whole path in the agent's command"
    )


async def program_version(program: AgentProgram, path: str, *, limit_s: float = VERSION_S) -> str:
    """What the program says its version is, or that it says none within a time. It is given a home of its own, which is removed.

    Raises RunnerRefused when it is missing or cannot be started.
    """
    found = find_program(program, path)
    with tempfile.TemporaryDirectory(prefix="overlord-version-", ignore_cleanup_errors=True) as home:
        try:
            process = await asyncio.create_subprocess_exec(
                found,
                "--version",
                env={"PATH": path, "HOME": home, "LANG": "C.UTF-8"},
                cwd=home,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise RunnerRefused(f"{found} cannot be started: {error.strerror}") from None
        return await _said(process, limit_s)


async def _said(process: asyncio.subprocess.Process, limit_s: float) -> str:
    assert process.stdout is not None
    said = b""
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while len(said) < _MOST_BYTES and (more := await process.stdout.read(_MOST_BYTES)):
                    said += more
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Of a program that says more than is read, asyncio tells no end before its output was taken.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                while await process.stdout.read(_MOST_BYTES):
                    continue
                await process.wait()
    number = _NUMBER.search(said.decode("utf-8", "replace"))
    return number.group() if number else "of an unknown version"
