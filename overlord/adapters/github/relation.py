"""How issues hang together at GitHub: an issue's sub-issues, and the issues that block it.

Requests name the other issue by its id, not its number, so it is read first. GitHub refuses to say twice what is said already:
each act looks, then does. A forge that has no such lists answers 404, as for an issue that is missing; whether the issue is there
tells the two apart.
"""

from collections.abc import Sequence

import structlog

from overlord.adapters.github.payload import CreatedPayload, RelatedPayload
from overlord.adapters.github.requests import GitHubRequests
from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import RelatedIssue
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnsupported
from overlord.failpoints import Failpoint, outward

log = structlog.get_logger()
PAGE = 100
SUB_ISSUES, BLOCKERS = "issues/list-sub-issues", "issues/list-dependencies-blocked-by"
REMOVES = "issues/remove-dependency-blocked-by"
FEATURES = {SUB_ISSUES: "sub-issues", BLOCKERS: "issue dependencies"}
"""How people call what an operation lists."""


class GitHubRelations(GitHubRequests):
    """The part of `ports.Forge` that is about issues and other issues."""

    async def sub_issues(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        return await self._related(SUB_ISSUES, name, number)

    @outward(Failpoint.ADD_SUB_ISSUE)
    async def add_sub_issue(
        self, name: RepositoryName, parent: int, child: int, *, child_name: RepositoryName | None = None
    ) -> None:
        await self._relate(
            (SUB_ISSUES, "issues/add-sub-issue", "sub_issue_id"), name, parent, child_name or name, child
        )

    async def blocked_by(self, name: RepositoryName, number: int) -> Sequence[RelatedIssue]:
        return await self._related(BLOCKERS, name, number)

    @outward(Failpoint.ADD_BLOCKED_BY)
    async def add_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        adding = (BLOCKERS, "issues/add-blocked-by-dependency", "issue_id")
        await self._relate(adding, name, number, blocker_name, blocker_number)

    @outward(Failpoint.REMOVE_BLOCKED_BY)
    async def remove_blocked_by(
        self, name: RepositoryName, number: int, blocker_name: RepositoryName, blocker_number: int
    ) -> None:
        beside = _beside(name, blocker_name)
        for item in await self._related(BLOCKERS, name, number, beside):
            if item.is_at(blocker_name, blocker_number):
                at = {"issue_number": number, "issue_id": item.id}
                try:
                    await self._change(REMOVES, name, b"", at, beside)
                except ForgeMissing:
                    if await self._is_related(BLOCKERS, name, number, blocker_name, blocker_number):
                        raise

    async def _relate(
        self,
        adding: tuple[str, str, str],
        name: RepositoryName,
        number: int,
        there: RepositoryName,
        other: int,
    ) -> None:
        """Look, then do. `adding`: the operations that list and add, and the field for the other issue's id. A refusal counts
        only while the issues are not related: another request, whose answer was lost, may have related them."""
        lists, adds, field = adding
        if await self._is_related(lists, name, number, there, other):
            return
        data = {field: await self._issue_id(there, other)}
        try:
            await self._change(adds, name, data, {"issue_number": number}, _beside(name, there))
        except ForgeRefused:
            if not await self._is_related(lists, name, number, there, other):
                raise

    async def _is_related(
        self, lists: str, name: RepositoryName, number: int, there: RepositoryName, other: int
    ) -> bool:
        related = await self._related(lists, name, number, _beside(name, there))
        return any(item.is_at(there, other) for item in related)

    async def _related(
        self, lists: str, name: RepositoryName, number: int, beside: RepositoryName | None = None
    ) -> list[RelatedIssue]:
        """All pages or an exception."""
        asked = {"issue_number": number, "per_page": PAGE}
        pages = self._items(RelatedPayload, lists, name, asked, beside)
        try:
            return [payload.record() async for payload in pages]
        except ForgeMissing:
            await self._issue_id(name, number)  # raises for an issue that is missing itself
        forge, feature = self._client.web_url, FEATURES[lists]
        if feature not in self._lacks:
            self._lacks.add(feature)
            log.warning("forge_lacks_feature", forge=forge, feature=feature)
        raise ForgeUnsupported(f"{forge} has no {feature}; a newer GitHub Enterprise Server has them")

    async def _issue_id(self, name: RepositoryName, number: int) -> int:
        return (await self._read(CreatedPayload, "issues/get", name, issue_number=number)).id


def _beside(name: RepositoryName, there: RepositoryName) -> RepositoryName | None:
    """The other repository, if it is another."""
    return there if there.casefold() != name.casefold() else None
