"""The backend of a checkout: the caller's own files, and the Overlord that works on their calls on this machine."""

import asyncio
import contextlib
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.entrypoints.local.checkout import Checkout, current_branch
from overlord.entrypoints.mcp.backend import Delivered
from overlord.entrypoints.mcp.checkout import applying, guarded_files, patching, project_root, snapshot, where
from overlord.entrypoints.mcp.checkout.kept import KEPT, Kept, Writing, is_old
from overlord.entrypoints.mcp.checkout.snapshot import Snapshot
from overlord.entrypoints.mcp.checkout.where import Where
from overlord.entrypoints.terminal.show import person
from overlord.errors import GitFailed, Refused, StoreError
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.settings.env import home_of
from overlord.settings.load import Settings
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceStore
from overlord.verbs.calls import Ground

Result = TypeVar("Result")
LOCK_S, LOCK_PAUSE_S = 60.0, 0.02
"""How long another call's copy, or its patch, is waited for."""


@asynccontextmanager
async def opened(directory: Path, environment: Mapping[str, str]) -> AsyncIterator["CheckoutBackend"]:
    """A backend for the checkout that a directory is in. No Overlord is started before the first call. Raises Refused where there is none."""
    own = project_root.checkout_at(directory)
    backend = CheckoutBackend(own=own, at=await where.found(own, environment), environment=environment)
    try:
        yield backend
    finally:
        await backend.at.close()


@dataclass(slots=True, kw_only=True)
class CheckoutBackend:
    """`Backend` for a checkout on this machine. Its caller is the machine of somebody who may do everything here: it may act, and answers no gate."""

    own: Checkout
    at: Where
    environment: Mapping[str, str]
    actor: str = field(default_factory=lambda: f"mcp:{person().removeprefix('cli:')}")
    right: AccessRight = AccessRight.ACT
    _taken: dict[Sha, Snapshot] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return self.at.settings

    @property
    def is_daemon(self) -> bool:
        return isinstance(self.at, where.DaemonHome)

    @property
    def state(self) -> Path:
        """What is known of this checkout, whoever works on its calls."""
        key = sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Home(home_of(self.environment)).checkout(key)

    @property
    def kept(self) -> Kept:
        return Kept(place=self.state, root=self.root)

    @property
    def root(self) -> Path:
        assert self.own.root is not None, "a server's checkout has files"
        return self.own.root

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        return await where.read_at(self.at, act)

    async def write(self, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
        await self.at.make_database()
        if point is Failpoint.CALL_REQUESTED:
            await self.at.ensure()
        return await asyncio.to_thread(where.write, self.at.home, point, act)

    async def wait(self, timeout_s: float) -> None:
        await self.at.wait(timeout_s)

    def reaches(self, space: str) -> bool:  # noqa: ARG002 - all of them
        """Whoever starts a server can read its home."""
        return True

    async def ground(self, project_root: str) -> Ground:
        return await self._ground(_directory(project_root, self.own))

    async def ground_of_session(self, session_key: str) -> Ground:
        found = (
            await self.read(lambda c: calls.of_session(c, self.at.space, session_key)) if session_key else []
        )
        return await self._ground(found[-1].directory if found else "")

    async def space_of(self, project_root: str, session_key: str) -> RepositoryName:  # noqa: ARG002 - there is one
        if project_root:
            _directory(project_root, self.own)
        return self.at.space

    async def _ground(self, directory: str) -> Ground:
        async with self._locked():
            await asyncio.to_thread(self.kept.clear)
            taken = await snapshot.take(
                self.own,
                mirror=self.at.home.mirror(self.at.space),
                state=self.state,
                at=datetime.now(UTC),
            )
            self._remember(taken)
        if not taken.has_directory(directory):
            raise Refused(
                f"project_root: there is no file in {directory} that a worker could be shown; what git ignores is not copied"
            )
        return Ground(
            space=self.at.space,
            base_branch=await current_branch(self.own) or "detached",
            directory=directory,
            base_sha=taken.commit,
        )

    async def check_files(self, ground: Ground, files: Mapping[str, Sequence[str]]) -> None:
        if (taken := self._taken.get(ground.base_sha)) is not None:
            taken.check_files({name: tuple(paths) for name, paths in files.items()}, ground.directory)

    async def deliver(self, call: Call, *, apply: bool) -> Delivered:
        left_out = self.kept.left_out(call.base_sha)
        if not call.patch:
            return Delivered(left_out=left_out or ())
        try:
            content = await asyncio.to_thread(EvidenceStore(self.at.home.evidence).get, call.patch)
        except StoreError as error:
            return Delivered(why_not=f"The patch cannot be given: {error}.", left_out=left_out or ())
        why_not = "The call said apply: false."
        if is_old(call):
            why_not = f"It was asked for more than {KEPT.days} days ago; whether it was written is not known any more."
        elif left_out is None:
            why_not = "It began on the files of another checkout."
        elif apply or self.kept.writing(call):
            try:
                why_not = await self._applied(call, content, apply=apply)
            except (Refused, GitFailed) as error:
                why_not = f"{error}."  # it may begin with the name of a file
        patch = content.decode(errors="replace")
        return Delivered(patch=patch, is_applied=not why_not, why_not=why_not, left_out=left_out or ())

    async def _applied(self, call: Call, content: bytes, *, apply: bool) -> str:
        """Write a patch to the files, once; empty, or why it was not. Raises Refused."""
        async with self._locked():
            said = self.kept.writing(call)
            if said is Writing.DONE:
                return ""
            if not apply and said is Writing.NONE:
                return "The call said apply: false."
            mirror = self.at.home.mirror(call.space)
            changes = await patching.changes_of(
                content, mirror=mirror, base=call.base_sha, scratch=self.state
            )
            await guarded_files.check(self.own, changes)
            self.kept.mark(call, Writing.BEGUN)
            try:
                await asyncio.to_thread(applying.apply, self.root, changes, resumes=said is Writing.BEGUN)
            except applying.PartlyWritten:
                raise  # the next try has to know
            except Refused:
                if said is Writing.NONE:  # else some of its files may be written, too
                    self.kept.mark(call, Writing.NONE)
                raise
            self.kept.mark(call, Writing.DONE)
            return ""

    def _remember(self, taken: Snapshot) -> None:
        self._taken[taken.commit] = taken
        while len(self._taken) > 8:
            del self._taken[next(iter(self._taken))]
        self.kept.remember(taken)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Be the only one that copies these files, or writes to them. Raises Refused where another call takes too long."""
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                async with asyncio.timeout(LOCK_S):
                    while not _is_taken(lock):  # noqa: ASYNC110 - another process tells nobody
                        await asyncio.sleep(LOCK_PAUSE_S)
            except TimeoutError:
                raise Refused(
                    f"another call reads or writes the files of {self.root} for more than {LOCK_S:.0f} s"
                ) from None
            yield
        finally:
            os.close(lock)


def _directory(text: str, own: Checkout) -> str:
    return project_root.directory_of(text, own)


def _is_taken(lock: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
