"""One caller's view of a daemon over HTTP: what their token reaches, worked on by the daemon itself. No files of theirs are here."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from overlord.domain.access import AccessRight
from overlord.domain.changes.paths import is_acted_on
from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import RepositoryName
from overlord.domain.text.plain import visible
from overlord.engine.issues.claim import base_branch
from overlord.entrypoints.mcp.backend import Delivered
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor
from overlord.errors import ForgeRefused, ForgeUnavailable, Refused, StoreError
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings
from overlord.store.disciplines import calls
from overlord.verbs.calls import Ground
from overlord.verbs.right import OF_TOKEN

Result = TypeVar("Result")
MOST_BRANCH_CHARS = 200
FORM = "over HTTP, project_root is `owner/name` or `owner/name@branch` of a repository that is worked on here"
GUARDED = "A person has to look at the patch first: agents, editors, shells and git go by {}."
NO_FILES = "Over HTTP nothing is written: apply the patch to your files yourself."


class ListenerBackend:
    """Made for each request: who comes with the token is found each time."""

    is_daemon = True

    def __init__(self, site: Site, visitor: Visitor) -> None:
        self._site, self._visitor = site, visitor
        self._seen = site.running.watchers.count
        self.actor = visitor.actor
        self.right = max(
            (right for right in AccessRight if OF_TOKEN[right] <= visitor.right), key=OF_TOKEN.__getitem__
        )

    @property
    def settings(self) -> Settings:
        """Those that the daemon goes by now."""
        return self._site.running.parts.settings

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Beside the daemon's own connection, as pages read."""
        return await self._site.reader.read(act)

    async def write(self, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """In the daemon's, which is woken after it."""
        made = await self._site.running.parts.database.write(point, act)
        self._site.running.wakeup.notify()
        return made

    async def wait(self, timeout_s: float) -> None:
        """Until a fact is written, or a Minion is at something else."""
        watchers = self._site.running.watchers
        await watchers.wait(self._seen, timeout_s=timeout_s)
        self._seen = watchers.count

    def reaches(self, space: str) -> bool:
        """Whether the token is for a repository; nothing stands for all."""
        return self._visitor.sees(space)

    async def ground(self, project_root: str) -> Ground:
        """A branch of a repository that is worked on. Raises Refused, also for a repository that the token is not for."""
        return await self._ground(*self._named(project_root))

    def _named(self, project_root: str) -> tuple[RepositoryName, str]:
        """A repository, and the branch where one is named."""
        name, at, branch = project_root.strip().partition("@")
        known = {space.casefold(): space for space in self.settings.repositories}
        space = known.get(name.casefold())
        if space is None or not self.reaches(space):
            raise Refused(
                f"there is no repository {visible(name)[:100]!r} here, or it is not yours to see; {FORM}"
            )
        if at and not _is_branch(branch):
            raise Refused(f"{visible(branch)[:100]!r} is no name of a branch; {FORM}")
        return RepositoryName(space), branch

    async def check_files(self, ground: Ground, files: Mapping[str, Sequence[str]]) -> None:
        """The branch is fetched once the call is worked on."""

    async def ground_of_session(self, session_key: str) -> Ground:
        """Where the session's last call was, among those the token is for. Raises Refused."""
        last = await self._last(session_key)
        return await self._ground(last.space, last.branch)

    async def space_of(self, project_root: str, session_key: str) -> RepositoryName:
        """As for a call, without a look at the forge."""
        return self._named(project_root)[0] if project_root else (await self._last(session_key)).space

    async def _last(self, session_key: str) -> Call:
        found = await self.read(lambda c: calls.of_session(c, "", session_key)) if session_key else []
        last = next((call for call in reversed(found) if self.reaches(call.space)), None)
        if last is None or last.space not in self.settings.repositories:
            raise Refused(
                "project_root is required: this session has no call yet that says which repository it is about"
            )
        return last

    async def _ground(self, space: RepositoryName, branch: str) -> Ground:
        try:
            base = branch or await base_branch(self._site.running.parts, space)
        except (ForgeRefused, ForgeUnavailable) as error:
            raise Refused(f"which branch of {space} is the base is not known now: {error}") from error
        return Ground(space=space, base_branch=base, branch=branch)

    async def deliver(self, call: Call, *, apply: bool) -> Delivered:
        """Its patch; nothing is written anywhere."""
        if not call.patch:
            return Delivered()
        try:
            content = self._site.running.parts.evidence.get(call.patch)
        except StoreError as error:
            return Delivered(why_not=f"The patch cannot be given: {error}.")
        why_not = NO_FILES if apply else "The call said apply: false."
        changed = call.result.changed if call.result is not None else ()
        if guarded := [visible(path) for path in changed if is_acted_on(path)]:
            why_not = f"{why_not} {GUARDED.format(', '.join(guarded[:5]))}"
        return Delivered(patch=content.decode(errors="replace"), why_not=why_not)


def _is_branch(name: str) -> bool:
    """Whether git takes it as a branch's name, as far as it can be told from the letters."""
    forbidden = set(" ~^:?*[\\")
    parts = name.split("/")
    return (
        0 < len(name) <= MOST_BRANCH_CHARS
        and name.isprintable()
        and not forbidden & set(name)
        and all(part and not part.startswith(".") and not part.endswith((".", ".lock")) for part in parts)
        and not any(mark in name for mark in ("..", "@{"))
        and name != "@"
        and not name.startswith("-")
    )
