"""Running the `git` program: a clean environment, a time limit, and its failures as GitFailed."""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

from overlord.errors import GitFailed

TIMEOUT_S = 600.0
_PASSED_ON = ("PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE")
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
        "GIT_ATTR_SOURCE": _EMPTY_TREE,
        "GIT_ATTR_NOSYSTEM": "1",
    }


def configured(settings: Mapping[str, str]) -> dict[str, str]:
    """Git configuration through the environment, where no argument list shows it."""
    pairs = {"core.hooksPath": os.devnull, "gc.auto": "0", "protocol.ext.allow": "never", **settings}
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
) -> bytes:
    """Run git on a bare repository of our own and return its output, the first `limit_bytes` of it if given.

    Raises GitFailed with the last words of a command that failed, hung, or could not be started.
    """
    process = await _start(repository, arguments, settings or {}, environment or {})
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if limit_bytes is None:
                output, errors = await process.communicate(stdin)
            else:
                return await _first_bytes(process, arguments[0], limit_bytes)
    except TimeoutError:
        raise GitFailed(f"git {arguments[0]} did not finish in {TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise GitFailed(f"git {arguments[0]} failed: {_last_words(errors)}")
    return output


async def _start(
    repository: Path, arguments: tuple[str, ...], settings: Mapping[str, str], environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            "git",
            f"--git-dir={repository}",
            *arguments,
            env={**clean_environment(), **configured(settings), **environment},
            cwd="/",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}; install git") from error


async def _first_bytes(process: asyncio.subprocess.Process, command: str, limit: int) -> bytes:
    """As much of the output as is wanted. Having enough is no failure; a command that ends badly before that is."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise GitFailed("git has no pipes")
    process.stdin.close()
    chunks, size = [], 0
    while size < limit and (chunk := await process.stdout.read(min(65536, limit - size))):
        chunks.append(chunk)
        size += len(chunk)
    if size < limit:
        errors = await process.stderr.read()
        if await process.wait() != 0:
            raise GitFailed(f"git {command} failed: {_last_words(errors)}")
    return b"".join(chunks)


def _last_words(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return _CONTROL.sub("", " / ".join(lines[-4:]))[-500:] or "it said nothing"
