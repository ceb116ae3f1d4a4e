"""Issues as tasks need them: closed for a reason, opened again, written anew, and related to other issues."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.domain.identifiers import RepositoryName
from overlord.domain.repositories.forge import RelatedIssue
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnsupported
from overlord.ports.forge import Forge
from tests.conformance.ground import KINDS, far_end

HERE, THERE = RepositoryName("demo/calc"), RepositoryName("demo/other")
FOREIGN = RepositoryName("acme/calc")
BRANCH = "topic"


@dataclass
class Ground:
    """Three repositories, two of them of one owner, with four issues in the first and one in each of the others."""

    people: EmbeddedForge
    forge: Forge

    async def add_pull(self) -> int:
        await self.people.push_files(HERE, BRANCH, {"a.txt": "b"}, "Change")
        pull = await self.forge.open_pull(HERE, branch=BRANCH, base="main", title="T", body="", draft=False)
        return pull.number


@pytest.fixture(params=KINDS)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    async with far_end(request.param, tmp_path / "forge") as end:
        for name in (HERE, THERE, FOREIGN):
            await end.people.create_repository(name, files={"a.txt": "a"})
            await end.people.open_issue(name, "One")
        for title in ("Two", "Three", "Four"):
            await end.people.open_issue(HERE, title)
        yield Ground(end.people, end.forge)


def places(issues: Sequence[RelatedIssue]) -> list[tuple[str, int]]:
    return [(item.repository, item.number) for item in issues]


async def test_an_issue_says_why_it_is_as_it_is(ground: Ground) -> None:
    forge = ground.forge
    found = [await forge.issue(HERE, 1)]
    await forge.close_issue(HERE, 1)
    found.append(await forge.issue(HERE, 1))
    await forge.reopen_issue(HERE, 1)
    found.append(await forge.issue(HERE, 1))
    await forge.close_issue(HERE, 1, "not_planned")
    found.append(await forge.issue(HERE, 1))
    await ground.people.reopen_issue(HERE, 1)
    await ground.people.close_issue(HERE, 1, reason="duplicate")
    found.append(await forge.issue(HERE, 1))
    assert [(item.state, item.state_reason) for item in found] == [
        ("open", None),
        ("closed", "completed"),
        ("open", "reopened"),
        ("closed", "not_planned"),
        ("closed", "duplicate"),
    ]
    assert found[-1] in await forge.issues_since(HERE, found[0].created_at)


async def test_what_is_so_already_stays_as_it_is(ground: Ground) -> None:
    for _ in range(2):
        await ground.forge.reopen_issue(HERE, 1)
    await ground.forge.close_issue(HERE, 1, "not_planned")
    await ground.forge.close_issue(HERE, 1, "completed")
    issue = ground.people.issue(HERE, 1)
    assert [item.event for item in ground.people.occurrences(issue)] == ["closed"]
    assert issue.state_reason == "not_planned"


async def test_an_issue_is_written_anew_in_part_or_whole(ground: Ground) -> None:
    await ground.forge.edit_issue(HERE, 1, body="- [ ] Two")
    await ground.forge.edit_issue(HERE, 1, title="Better")
    await ground.forge.edit_issue(HERE, 1)
    issue = (await ground.forge.issue(HERE, 1)).issue
    assert (issue.title, issue.body) == ("Better", "- [ ] Two")
    await ground.forge.edit_issue(HERE, 1, title="Best", body="")
    issue = (await ground.forge.issue(HERE, 1)).issue
    assert (issue.title, issue.body) == ("Best", "")
    with pytest.raises(ForgeRefused):
        await ground.forge.edit_issue(HERE, 1, body="x" * 65_537)
    with pytest.raises(ForgeMissing):
        await ground.forge.edit_issue(HERE, 99, body="x")


async def test_a_sub_issue_is_added_once_however_often_it_is_asked_for(ground: Ground) -> None:
    forge = ground.forge
    assert await forge.sub_issues(HERE, 1) == []
    for _ in range(2):
        await forge.add_sub_issue(HERE, 1, 3)
    await forge.add_sub_issue(HERE, 1, 2)
    await forge.add_sub_issue(HERE, 1, 1, child_name=RepositoryName("Demo/Other"))
    await forge.close_issue(HERE, 2, "not_planned")
    found = await forge.sub_issues(HERE, 1)
    assert places(found) == [(HERE, 3), (HERE, 2), (THERE, 1)]
    assert [(item.open, item.state_reason) for item in found] == [
        (True, None),
        (False, "not_planned"),
        (True, None),
    ]
    assert len(ground.people.sub_issues(ground.people.issue(HERE, 1))) == 3


async def test_an_issue_has_one_parent_and_no_circle_of_them(ground: Ground) -> None:
    forge = ground.forge
    await forge.add_sub_issue(HERE, 1, 2)
    await forge.add_sub_issue(HERE, 2, 3)
    for parent, child, why in (
        (4, 2, "Sub issue may only have one parent"),
        (3, 1, "circular"),
        (4, 4, "circular"),
    ):
        with pytest.raises(ForgeRefused, match=rf"422.*{why}"):
            await forge.add_sub_issue(HERE, parent, child)
    with pytest.raises(ForgeRefused, match=r"422.*same repository owner"):
        await forge.add_sub_issue(HERE, 1, 1, child_name=FOREIGN)
    assert places(await forge.sub_issues(HERE, 1)) == [(HERE, 2)]
    assert await forge.sub_issues(HERE, 4) == []


async def test_a_parent_has_a_hundred_sub_issues_at_most(ground: Ground) -> None:
    parent = ground.people.issue(HERE, 1)
    for number in range(100):
        issue = ground.people.create_issue(HERE, title=f"Task {number}", body="", author="alice")
        ground.people.add_sub_issue(parent, issue)
    with pytest.raises(ForgeRefused, match=r"422.*more than 100 sub-issues"):
        await ground.forge.add_sub_issue(HERE, 1, 2)
    assert len(await ground.forge.sub_issues(HERE, 1)) == 100


async def test_sub_issues_are_nested_only_so_deep(ground: Ground) -> None:
    await ground.forge.add_sub_issue(HERE, 1, 2)
    above = ground.people.issue(HERE, 2)
    for number in range(6):
        issue = ground.people.create_issue(HERE, title=f"Level {number}", body="", author="alice")
        ground.people.add_sub_issue(above, issue)
        above = issue
    with pytest.raises(ForgeRefused, match=r"422.*levels"):
        await ground.forge.add_sub_issue(HERE, above.number, 3)
    with pytest.raises(ForgeRefused, match=r"422.*levels"):
        await ground.forge.add_sub_issue(HERE, 4, 1)


async def test_an_issue_waits_for_others_until_it_does_no_more(ground: Ground) -> None:
    forge = ground.forge
    for _ in range(2):
        await forge.add_blocked_by(HERE, 1, HERE, 2)
    await forge.add_blocked_by(HERE, 1, FOREIGN, 1)
    await forge.close_issue(HERE, 2)
    found = await forge.blocked_by(HERE, 1)
    assert places(found) == [(HERE, 2), (FOREIGN, 1)]
    assert [item.open for item in found] == [False, True]
    for _ in range(2):
        await forge.remove_blocked_by(HERE, 1, RepositoryName("Demo/Calc"), 2)
    assert places(await forge.blocked_by(HERE, 1)) == [(FOREIGN, 1)]


async def test_no_issues_wait_for_each_other(ground: Ground) -> None:
    forge = ground.forge
    await forge.add_blocked_by(HERE, 1, HERE, 2)
    await forge.add_blocked_by(HERE, 2, HERE, 3)
    for blocked, blocker in ((3, 1), (2, 1), (4, 4)):
        with pytest.raises(ForgeRefused, match=r"422.*circular"):
            await forge.add_blocked_by(HERE, blocked, HERE, blocker)
    await forge.add_blocked_by(HERE, 1, HERE, 3)
    assert places(await forge.blocked_by(HERE, 3)) == []


async def test_an_issue_waits_for_fifty_others_at_most(ground: Ground) -> None:
    blocked = ground.people.issue(HERE, 1)
    for number in range(50):
        issue = ground.people.create_issue(HERE, title=f"Task {number}", body="", author="alice")
        ground.people.add_blocker(blocked, issue)
    with pytest.raises(ForgeRefused, match=r"422.*more than 50"):
        await ground.forge.add_blocked_by(HERE, 1, HERE, 2)


async def test_a_pull_request_is_related_to_nothing(ground: Ground) -> None:
    pull, forge = await ground.add_pull(), ground.forge
    for number, other in ((pull, 1), (1, pull)):
        with pytest.raises(ForgeRefused, match=r"422.*may only be an issue"):
            await forge.add_sub_issue(HERE, number, other)
        with pytest.raises(ForgeRefused, match=r"422.*may only be an issue"):
            await forge.add_blocked_by(HERE, number, HERE, other)


async def test_an_issue_that_is_not_there_is_missing_on_either_side(ground: Ground) -> None:
    forge = ground.forge
    for ask in (
        lambda: forge.sub_issues(HERE, 99),
        lambda: forge.add_sub_issue(HERE, 99, 1),
        lambda: forge.add_sub_issue(HERE, 1, 99),
        lambda: forge.blocked_by(HERE, 99),
        lambda: forge.add_blocked_by(HERE, 99, HERE, 1),
        lambda: forge.add_blocked_by(HERE, 1, HERE, 99),
        lambda: forge.remove_blocked_by(HERE, 99, HERE, 1),
        lambda: forge.reopen_issue(HERE, 99),
    ):
        with pytest.raises(ForgeMissing, match="404"):
            await ask()
    await forge.remove_blocked_by(HERE, 1, HERE, 99)


async def test_a_forge_without_relations_says_so_and_not_that_the_issue_is_missing(ground: Ground) -> None:
    ground.people.has_sub_issues = ground.people.has_dependencies = False
    forge = ground.forge
    for ask, feature in (
        (lambda: forge.sub_issues(HERE, 1), "sub-issues"),
        (lambda: forge.add_sub_issue(HERE, 1, 2), "sub-issues"),
        (lambda: forge.blocked_by(HERE, 1), "issue dependencies"),
        (lambda: forge.add_blocked_by(HERE, 1, HERE, 2), "issue dependencies"),
        (lambda: forge.remove_blocked_by(HERE, 1, HERE, 2), "issue dependencies"),
    ):
        with pytest.raises(ForgeUnsupported, match=f"has no {feature}") as caught:
            await ask()
        assert not isinstance(caught.value, ForgeMissing)
    with pytest.raises(ForgeMissing):
        await forge.add_sub_issue(HERE, 99, 2)
    assert (await forge.issue(HERE, 1)).open


async def test_a_transferred_issue_keeps_its_relations_and_a_deleted_one_leaves_them(ground: Ground) -> None:
    people, forge = ground.people, ground.forge
    await forge.add_sub_issue(HERE, 1, 2)
    await forge.add_blocked_by(HERE, 2, HERE, 3)
    await forge.add_blocked_by(HERE, 4, HERE, 2)
    moved = await people.transfer_issue(HERE, 2, THERE)
    assert places(await forge.sub_issues(HERE, 1)) == [(THERE, moved)]
    assert places(await forge.blocked_by(THERE, moved)) == [(HERE, 3)]
    assert places(await forge.blocked_by(HERE, 4)) == [(THERE, moved)]
    await people.delete_issue(HERE, 3)
    await people.delete_issue(THERE, moved)
    assert await forge.sub_issues(HERE, 1) == await forge.blocked_by(HERE, 4) == []
