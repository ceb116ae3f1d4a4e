"""Running the `git` program: a clean environment, a time limit, and its failures as GitFailed."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from overlord.adapters.git.credentials import handed_over
from overlord.errors import GitFailed, GitUnavailable
from overlord.git_limits import READING, SETTINGS
from overlord.process_limits import EXHAUSTED

TIMEOUT_S = 600.0
SILENT_S = 120
"""The longest a forge may send nothing; while they work, servers send something every few seconds."""
LASTING = {"core.fsync": "committed", "core.fsyncMethod": "batch"}
"""Settings for what the database is about to name: objects and references are on the disk before git says so."""
_PASSED_ON = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_LIMITED = ("sh", "-c", 'ulimit -f "$0" && exec "$@"')
_OUTPUT_BYTES = 64 * 1024
"""As much is kept of what a command that failed had printed."""
_WITH_ATTRIBUTES = ("env", "-u", "GIT_ATTR_SOURCE")
_INSIDE = ("sh", "-c", 'cd "$0" && exec "$@"')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TOO_MUCH = re.compile(
    rb"out of memory|over limit \d|cannot allocate memory|died of signal 24", re.IGNORECASE
)
_NOT_FOUND = 127
"""What a shell ends with that did not find the program."""


class OverLimit(GitFailed):
    """What it was to read takes more memory or time of the processor than a bounded git may have."""


def clean_environment() -> dict[str, str]:
    """No user's or system's configuration, no prompts, no attributes out of a repository's tree."""
    kept = {name: os.environ[name] for name in (*_PASSED_ON, *_CERTIFICATES) if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ATTR_SOURCE": EMPTY_TREE,
        "GIT_ATTR_NOSYSTEM": "1",
    }


def configured(settings: Mapping[str, str]) -> dict[str, str]:
    """Git configuration through the environment, so that no file is left behind."""
    pairs = {
        "core.hooksPath": os.devnull,
        "gc.auto": "0",
        "protocol.ext.allow": "never",
        **settings,
        "http.lowSpeedLimit": "1",
        "http.lowSpeedTime": str(SILENT_S),
    }
    numbered: dict[str, str] = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for index, (key, value) in enumerate(pairs.items()):
        numbered[f"GIT_CONFIG_KEY_{index}"] = key
        numbered[f"GIT_CONFIG_VALUE_{index}"] = value
    return numbered


async def git(
    repository: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    limit_bytes: int | None = None,
    largest_file_bytes: int | None = None,
    fine: Collection[int] = (0,),
    bounded: bool = False,
    directory: Path | None = None,
    has_attributes: bool = False,
) -> bytes:
    """Run git on a bare repository of our own and return its output, the first `limit_bytes` of it if given. It is ended
    when it writes a larger file than it may. `fine` are the exit codes of a command that did what it should. `bounded` is for
    whatever reads objects that a session may have made: it has READING's memory and time and no more. `directory` is where
    the paths begin that are not absolute. `has_attributes`: those of the working tree count, which else no git of ours goes by.

    Raises GitFailed with the last words of a command that failed, hung, or could not be started, and OverLimit; GitUnavailable
    when this machine has no room for another program just now.
    """
    before = () if largest_file_bytes is None else (*_LIMITED, str(largest_file_bytes // 512))
    settings, environment = settings or {}, environment or {}
    if directory is not None:
        before = (*before, *_INSIDE, str(directory))
    if has_attributes:
        before = (*before, *_WITH_ATTRIBUTES)
    if bounded:
        before = (*before, *READING.program)
        settings, environment = {**SETTINGS, **settings}, {**READING.environment, **environment}
    async with _running(repository, (*before, "git"), arguments, settings, environment) as process:
        if limit_bytes is not None:
            chunks: list[bytes] = []
            await _read_output(process, arguments[0], limit_bytes, chunks.append, fine)
            return b"".join(chunks)
        output, errors = await process.communicate(stdin)
    if process.returncode not in fine:
        raise _failure(arguments[0], process.returncode, errors, output)
    return output


async def output_bytes(repository: Path, *arguments: str, most: int) -> int:
    """How much a bounded git prints, counted up to `most` and kept nowhere. Raises GitFailed as `git` does."""
    program = (*READING.program, "git")
    async with _running(repository, program, arguments, SETTINGS, READING.environment) as process:
        return await _read_output(process, arguments[0], most, len)


@asynccontextmanager
async def _running(
    repository: Path,
    program: tuple[str, ...],
    arguments: tuple[str, ...],
    settings: Mapping[str, str],
    environment: Mapping[str, str],
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A git that is ended when its time is over, or whoever reads it leaves."""
    process = await _start(repository, program, arguments, settings, environment)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            yield process
    except TimeoutError:
        raise GitFailed(f"git {arguments[0]} did not finish in {TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            _kill(process)
        await process.communicate()  # what nobody reads to its end keeps its pipe open


async def _start(
    repository: Path,
    program: tuple[str, ...],
    arguments: tuple[str, ...],
    settings: Mapping[str, str],
    environment: Mapping[str, str],
) -> asyncio.subprocess.Process:
    try:
        with handed_over(settings) as (plain, descriptors):
            return await asyncio.create_subprocess_exec(
                *program,
                f"--git-dir={repository}",
                *arguments,
                env={**clean_environment(), **configured(plain), **environment},
                cwd="/",
                pass_fds=descriptors,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
    except OSError as error:
        raise _not_started(error) from error


def _not_started(error: OSError) -> GitFailed | GitUnavailable:
    if error.errno in EXHAUSTED:
        return GitUnavailable(
            f"git cannot be started just now: {error.strerror}. Overlord tries again; if this goes on, raise the limit on"
            " open files and processes, or give this machine memory"
        )
    fix = "; install git" if isinstance(error, FileNotFoundError) else ""
    return GitFailed(f"git cannot be started: {error.strerror}{fix}")


def _kill(process: asyncio.subprocess.Process) -> None:
    """Git, and what it has started: a `git-remote-https` that waits for a silent forge would keep our pipes open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _read_output(
    process: asyncio.subprocess.Process,
    command: str,
    limit: int,
    take: Callable[[bytes], object],
    fine: Collection[int] = (0,),
) -> int:
    """Take as much of the output as is wanted, and say how much it was. Having enough is no failure; a command that ends
    badly before that is."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise GitFailed("git has no pipes")
    process.stdin.close()
    size = 0
    while size < limit and (chunk := await process.stdout.read(min(65536, limit - size))):
        take(chunk)
        size += len(chunk)
    if size < limit:
        errors = await process.stderr.read()
        if await process.wait() not in fine:
            raise _failure(command, process.returncode, errors)
    return size


def _failure(command: str, code: int | None, errors: bytes, output: bytes = b"") -> GitFailed:
    if code == -signal.SIGXCPU:
        return OverLimit(f"git {command} needs more than {READING.cpu_s} s of the processor")
    if code == _NOT_FOUND:
        return GitFailed(f"git cannot be started: {_last_words(errors)}; install git")
    kind = OverLimit if _TOO_MUCH.search(errors) else GitFailed
    message = f"git {command} failed: {_last_words(errors)}"
    return kind(message, output=output[-_OUTPUT_BYTES:], errors=errors[-_OUTPUT_BYTES:])


def _last_words(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return _CONTROL.sub("", " / ".join(lines[-4:]))[-500:] or "it said nothing"
