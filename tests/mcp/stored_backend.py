"""A backend of tests over a real database; `python -m tests.mcp.stored_backend HOME [RIGHT]` serves it on standard input and output."""

import asyncio
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import RepositoryName
from overlord.entrypoints.mcp.backend import Delivered
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings, load
from overlord.store.database import Database
from overlord.store.disciplines import calls
from overlord.verbs.calls import Ground
from overlord.wakeup import Wakeup
from tests.records import BASE, REPO

Result = TypeVar("Result")
ROOT = "/work/widgets"
PATCH = "diff --git a/a.py b/a.py\n"


class StoredBackend:
    """A checkout whose files are nowhere: each call begins on the same commit, and its change is applied once."""

    actor = "mcp:tester"
    is_daemon = True

    def __init__(
        self, database: Database, settings: Settings, right: AccessRight = AccessRight.ADMIN
    ) -> None:
        self.settings, self.right, self.wakeup = settings, right, Wakeup()
        self._database, self._seen = database, 0
        self.applied: list[str] = []
        """The calls whose change was written."""

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        return await self._database.read(act)

    async def write(self, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
        made = await self._database.write(point, act)
        self.wakeup.notify()
        return made

    async def wait(self, timeout_s: float) -> None:
        await self.wakeup.wait(self._seen, timeout_s=timeout_s)
        self._seen = self.wakeup.count

    def reaches(self, space: str) -> bool:
        return space == REPO

    async def ground(self, project_root: str) -> Ground:
        if project_root != ROOT:
            raise Refused(f"project_root must be {ROOT}")
        return Ground(space=REPO, base_branch="main", base_sha=BASE)

    async def check_files(self, ground: Ground, files: Mapping[str, Sequence[str]]) -> None:
        """Every file is there but one that is called so."""
        if missing := [name for names in files.values() for name in names if name == "absent.py"]:
            raise Refused(f"there is no {missing[0]}")

    async def ground_of_session(self, session_key: str) -> Ground:
        found = await self.read(lambda c: calls.of_session(c, "", session_key))
        if not found:
            raise Refused("project_root is required: the session has no call yet")
        return await self.ground(ROOT)

    async def space_of(self, project_root: str, session_key: str) -> RepositoryName:
        found = await (self.ground(project_root) if project_root else self.ground_of_session(session_key))
        return found.space

    async def deliver(self, call: Call, *, apply: bool) -> Delivered:
        if not call.patch:
            return Delivered()
        if not apply:
            return Delivered(patch=PATCH, why_not="The call said apply: false.")
        if call.ref not in self.applied:
            self.applied.append(call.ref)
        return Delivered(patch=PATCH, is_applied=True)


async def _serve(home: Path, right: AccessRight) -> None:
    from overlord.entrypoints.mcp.stdio import run_stdio

    database = await Database.open(home / "overlord.db", exclusive=False)
    backend = StoredBackend(database, load({"OVERLORD_HOME": str(home)}), right)
    try:
        with backend.wakeup.listening(home / "wakeup"):
            await run_stdio(backend)
    finally:
        await database.close()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), AccessRight(sys.argv[2] if len(sys.argv) > 2 else "admin")))
