"""What a server of MCP stands on: for a checkout, its files and the Overlord that works there; at the listener, the daemon and a token."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import RepositoryName
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings
from overlord.verbs.calls import Ground

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of the change of a call that has ended."""

    patch: str = ""
    """The change as `git apply` takes it; empty where nothing was changed."""
    is_applied: bool = False
    why_not: str = ""
    """Why it was not written to the caller's files, as a sentence; empty where it was, or there is none."""
    left_out: tuple[str, ...] = ()
    """Files of the caller that the worker was not shown: they look like secrets, or have a filter of git's."""


class Backend(Protocol):
    """One caller's view of an Overlord."""

    actor: str
    """Who calls, as the ledger names them: `mcp:alice`, `web:ci`."""
    right: AccessRight
    """What the caller may do at most."""

    @property
    def is_daemon(self) -> bool:
        """Whether a daemon works there, on issues too; a checkout's own place works on calls alone."""

    @property
    def settings(self) -> Settings:
        """The settings that count now."""

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """One consistent look at the database."""

    async def write(self, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """One transaction; the engine is woken after it."""

    async def wait(self, timeout_s: float) -> None:
        """Return when something may have happened, or after a while; and see to it that an engine works on what is open."""

    def reaches(self, space: str) -> bool:
        """Whether the caller may see a repository. What is about all of them (an empty name) is out of reach of a token for some."""

    async def ground(self, project_root: str) -> Ground:
        """The files that `project_root` means, a copy of the caller's own included where they are. Raises Refused with what is wrong."""

    async def check_files(self, ground: Ground, files: Mapping[str, Sequence[str]]) -> None:
        """Raises Refused for files that a call is about, by the argument that names them, and that are not there. Where the base is not
        looked at before the call is worked on, its worker finds that."""

    async def ground_of_session(self, session_key: str) -> Ground:
        """The same where no `project_root` is given: of the session's last call, else of the checkout. Raises Refused."""

    async def space_of(self, project_root: str, session_key: str) -> RepositoryName:
        """The repository that the same is in, for what needs none of its files: nothing is copied. Raises Refused."""

    async def deliver(self, call: Call, *, apply: bool) -> Delivered:
        """The change of a call that has ended; written to the caller's files where they are here, as they were, and `apply` says so.
        Told again, it is not written again."""
