"""Git as the Minion runs it: no system or user configuration, no hooks, no prompts, an identity of its own."""

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from minion.errors import GitFailed

NAME = "Overlord Minion"
EMAIL = "minion@overlord.invalid"

SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgSign=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
)
_OPTIONS = tuple(word for setting in SETTINGS for word in ("-c", setting))

_REFUSED = re.compile(r"returned error: 4\d\d|HTTP 4\d\d|rejected")
_CUT = re.compile(
    r"returned error: 5\d\d|HTTP 5\d\d|Failed to connect|Connection re|Empty reply|unexpected disconnect"
    r"|early EOF|RPC failed|hung up|Recv failure|Send failure|transfer closed|the remote end"
)


def environment(search_path: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What git is given, and nothing else."""
    return {
        "PATH": search_path,
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "http:file",
        "GIT_AUTHOR_NAME": NAME,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": NAME,
        "GIT_COMMITTER_EMAIL": EMAIL,
        **(extra or {}),
    }


class Git:
    """Runs git with one search path, in the directory each call names."""

    def __init__(self, search_path: str) -> None:
        self._search_path = search_path

    def run(
        self,
        directory: Path,
        *arguments: str,
        extra: Mapping[str, str] | None = None,
        input_text: str | None = None,
        check: bool = True,
    ) -> str:
        """Run one command and return what it printed. Raises GitFailed unless `check` is off."""
        done = subprocess.run(
            ["git", *_OPTIONS, *arguments],
            cwd=directory,
            env=environment(self._search_path, extra),
            input=input_text,
            stdin=subprocess.DEVNULL if input_text is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            start_new_session=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise failure(arguments[0], done.stderr)
        return done.stdout

    def push_directly(self, directory: Path, remote: str, reference: str, old: str, new: str) -> bool:
        """Move a remote branch from one commit to the next in one request; False where that is for `git push`."""
        from minion.workspace.direct_push import pushed  # not every session pushes

        return pushed(directory, remote, self._search_path, reference=reference, old=old, new=new)


def persistently(attempt: Callable[[], str], *, patience_s: float) -> str:
    """Repeat what failed only because the way to the session API was cut, for so long: an Overlord that restarts is back by then."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return attempt()
        except GitFailed as error:
            if not error.transient or time.monotonic() >= until:
                raise
        time.sleep(min(1.0, patience_s))


def failure(command: str, text: str) -> GitFailed:
    """The exception for a git command that failed, told apart by whose fault it was."""
    words = " ".join(text.encode("utf-8", "replace").decode().split())[-1200:]
    transient = _REFUSED.search(text) is None and _CUT.search(text) is not None
    return GitFailed(f"git {command}: {words or 'failed without a word'}", transient=transient)
