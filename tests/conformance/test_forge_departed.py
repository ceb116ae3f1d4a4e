"""Issues that are not where they were: what a forge makes of transferred and deleted ones."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overlord.adapters.github.forge import GitHubForge
from overlord.domain.conversation.comment import Reaction
from overlord.domain.identifiers import RepositoryName
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import ForgeMissing, ForgeMoved, ForgeRefused
from overlord.ports.forge import Forge
from tests.conformance.ground import KINDS, FarEnd, far_end

HERE, THERE = RepositoryName("demo/calc"), RepositoryName("demo/other")
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=KINDS)
async def end(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FarEnd]:
    async with far_end(request.param, tmp_path / "forge", described=False) as end:
        for name in (HERE, THERE):
            await end.people.create_repository(name, files={"a.txt": "a"})
        yield end


@pytest.fixture
def people(end: FarEnd) -> EmbeddedForge:
    return end.people


@pytest.fixture
def forge(end: FarEnd) -> Forge:
    return end.forge


async def test_a_transferred_issue_says_where_it_is_and_is_listed_there(
    people: EmbeddedForge, forge: Forge
) -> None:
    number = await people.open_issue(HERE, "Lost", labels=["ready"])
    await forge.add_comment(HERE, number, "Hello")
    assert (await forge.issue(HERE, number)).issue.title == "Lost"
    await people.open_issue(THERE, "Other", labels=["ready"])
    await people.transfer_issue(HERE, number, THERE)
    with pytest.raises(ForgeMoved) as caught:
        await forge.issue(HERE, number)
    assert caught.value.to == "demo/other#2"
    assert await forge.issues_labelled(HERE, "ready") == await forge.issues_since(HERE, SINCE) == []
    assert await forge.comments_since(HERE, SINCE) == []
    found = await forge.issue(THERE, 2)
    assert (found.issue.title, found.issue.labels) == ("Lost", ("ready",))
    assert found in await forge.issues_labelled(THERE, "ready")
    [(_, comment)] = await forge.comments(THERE, 2)
    assert comment.body == "Hello"


async def test_nothing_is_done_to_a_transferred_issue_at_its_old_address(
    people: EmbeddedForge, forge: Forge
) -> None:
    number = await people.open_issue(HERE, "Lost", labels=["ready"])
    comment = await forge.add_comment(HERE, number, "Hello")
    await people.transfer_issue(HERE, number, THERE)
    for ask in (
        lambda: forge.add_comment(HERE, number, "Are you there?"),
        lambda: forge.add_label(HERE, number, "found"),
        lambda: forge.remove_label(HERE, number, "ready"),
        lambda: forge.close_issue(HERE, number),
        lambda: forge.reopen_issue(HERE, number),
        lambda: forge.edit_issue(HERE, number, body="Gone"),
        lambda: forge.add_sub_issue(HERE, number, 1),
        lambda: forge.add_blocked_by(HERE, number, HERE, 1),
        lambda: forge.edit_comment(HERE, comment, "Gone"),
        lambda: forge.react(HERE, comment, Reaction.SEEN),
    ):
        with pytest.raises(ForgeRefused):
            await ask()
    assert [kept.body for kept in people.comments(THERE, 1)] == ["Hello"]
    assert people.issue(THERE, 1).open


@pytest.mark.parametrize("end", ["embedded"], indirect=True)
async def test_an_issue_that_went_where_we_may_not_look_is_missing(people: EmbeddedForge) -> None:
    number = await people.open_issue(HERE, "Lost")
    await people.transfer_issue(HERE, number, THERE)
    token = people.grant(people.add_app("overlord", "", [HERE])).token
    async with people.serve() as url:
        forge = GitHubForge.with_token(token, base_url=url, retry_wait_s=0)
        with pytest.raises(ForgeMissing, match="404") as caught:
            await forge.issue(HERE, number)
        await forge.close()
    assert not isinstance(caught.value, ForgeMoved)


async def test_a_deleted_issue_is_missing_with_all_below_it(people: EmbeddedForge, forge: Forge) -> None:
    number = await people.open_issue(HERE, "Lost", labels=["ready"])
    comment = await forge.add_comment(HERE, number, "Hello")
    await forge.react(HERE, comment, Reaction.SEEN)
    await people.delete_issue(HERE, number)
    for ask in (
        lambda: forge.issue(HERE, number),
        lambda: forge.comments(HERE, number),
        lambda: forge.add_comment(HERE, number, "Are you there?"),
        lambda: forge.add_label(HERE, number, "found"),
        lambda: forge.close_issue(HERE, number),
        lambda: forge.reopen_issue(HERE, number),
        lambda: forge.edit_issue(HERE, number, body="Gone"),
        lambda: forge.sub_issues(HERE, number),
        lambda: forge.add_sub_issue(HERE, number, 1),
        lambda: forge.blocked_by(HERE, number),
        lambda: forge.labelling(HERE, number, "ready"),
    ):
        with pytest.raises(ForgeMissing, match="410 This issue was deleted") as caught:
            await ask()
        assert not isinstance(caught.value, ForgeMoved)
    with pytest.raises(ForgeMissing, match="404"):
        await forge.edit_comment(HERE, comment, "Gone")
    assert await forge.issues_since(HERE, SINCE) == []
    assert await forge.comments_since(HERE, SINCE) == []
