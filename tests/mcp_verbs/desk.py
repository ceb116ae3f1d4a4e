"""A caller of MCP at a database on disk: what they may and see is theirs, what the engine does is a test's."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.identifiers import RepositoryName
from overlord.domain.portfolio.task import TaskState
from overlord.entrypoints.mcp.backend import Delivered
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings, load
from overlord.store import access, decisions, jobs, ledger
from overlord.store.database import Database
from overlord.store.portfolio import initiatives, tasks
from overlord.verbs.calls import Ground, request_call
from tests.portfolio import a_task, an_initiative
from tests.records import HEAD, NOW, REPO
from tests.stored import ask, claim, note, opened, propose

Result = TypeVar("Result")
OTHER = "zeta/vault"
HUSH = "Rotate the launch codes"
"""What the other repository's work is called."""


async def _nobody() -> None:
    """No engine works."""


@dataclass
class Desk:
    """A `Backend`."""

    database: Database
    settings: Settings
    actor: str = "web:ci"
    right: AccessRight = AccessRight.ADMIN
    spaces: tuple[str, ...] = ()
    is_daemon: bool = True
    engine: Callable[[], Awaitable[None]] = field(default=_nobody)
    """What happens while somebody waits."""

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        return await self.database.read(act)

    async def write(self, point: Failpoint | str, act: Callable[[sqlite3.Connection], Result]) -> Result:
        return await self.database.write(point, act)

    async def wait(self, timeout_s: float) -> None:
        assert timeout_s > 0
        await self.engine()

    def reaches(self, space: str) -> bool:
        return not self.spaces or space.casefold() in {name.casefold() for name in self.spaces}

    async def ground(self, project_root: str) -> Ground:
        raise AssertionError(f"no verb asks for {project_root}")

    async def check_files(self, ground: Ground, files: Mapping[str, Sequence[str]]) -> None:
        raise AssertionError(f"no verb looks for {files} in {ground}")

    async def ground_of_session(self, session_key: str) -> Ground:
        raise AssertionError(f"no verb asks for {session_key}")

    async def space_of(self, project_root: str, session_key: str) -> RepositoryName:
        raise AssertionError(f"no verb asks for {project_root} or {session_key}")

    async def deliver(self, call: Call, *, apply: bool) -> Delivered:
        raise AssertionError(f"no verb delivers {call.ref}: {apply}")

    def as_(self, right: AccessRight, *spaces: str) -> "Desk":
        """Another caller of the same Overlord."""
        return replace(self, right=right, spaces=spaces)

    async def filled(self) -> None:
        """Both repositories with a job that waits, an initiative, a note, a proposal; and a token."""
        await self.database.write("by hand", lambda c: _fill(c, self.settings))

    async def events(self, name: str) -> list[str]:
        """The data of the ledger's events of a name."""
        return [item.data for item in await self.read(lambda c: list(ledger.entries(c))) if item.name == name]


def _fill(connection: sqlite3.Connection, settings: Settings) -> None:
    for number, space, title in ((7, REPO, "add() subtracts"), (8, OTHER, HUSH)):
        job = claim(connection, number, space, title=title)
        jobs.repair(connection, job.id, head_sha=HEAD)
        ask(connection, jobs.get(connection, job.id), title=f"{space}#{number}: {title}")
        initiatives.add(
            connection, an_initiative(space=space, slug=f"i-{number}", key=f"i-{number}", title=title)
        )
        made = initiatives.every(connection)[-1]
        tasks.add(
            connection, a_task(initiative_id=made.id, space=space, subject=title, state=TaskState.PENDING)
        )
        note(connection, f"{title}, says {space}.", space=space)
        propose(connection, space, title=title)
    request_call(
        connection,
        DisciplineName.TDD_RED,
        {"project_root": OTHER, "spec": HUSH},
        Ground(space=RepositoryName(OTHER), base_branch="main"),
        settings=settings,
        actor="web:else",
        at=NOW,
    )
    access.create(connection, "old", AccessRight.READ, actor="cli:alice", at=NOW)
    assert len(decisions.waiting(connection)) >= 2


@asynccontextmanager
async def made_desk(path: Path) -> AsyncIterator[Desk]:
    """One whose database is new."""
    home = path / "home"
    async with opened(home / "overlord.db") as database:
        settings = load({"OVERLORD_HOME": str(home)}, repositories=[REPO, OTHER])
        yield Desk(database=database, settings=settings)
