"""Who did and said what at a forge: labels and who put them on, comments since a moment, reactions, who may write."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.conversation.comment import Reaction
from overlord.domain.identifiers import RepositoryName
from overlord.embedded.forge.forge import OWNER, EmbeddedForge
from overlord.errors import ForgeMissing
from overlord.ports.forge import Forge
from tests.conformance.ground import KINDS, far_end
from tests.turning import WorldClock

NAME = RepositoryName("demo/people")


@dataclass
class Ground:
    """A forge whose clock is set by hand: what counts here is what came before what."""

    people: EmbeddedForge
    forge: Forge
    clock: WorldClock
    name: RepositoryName = NAME

    def later(self) -> datetime:
        self.clock.move(60)
        return self.clock.now()


@pytest.fixture(params=KINDS)
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ground]:
    clock = WorldClock()
    async with far_end(request.param, tmp_path / "forge", clock.now) as end:
        await end.people.create_repository(NAME, files={"a.txt": "a"})
        yield Ground(end.people, end.forge, clock)


async def test_the_last_who_put_a_label_on_is_known(ground: Ground) -> None:
    number = await ground.people.open_issue(ground.name, "One", labels=["ready", "other"])
    ground.people.add_user("helpful[bot]", association="COLLABORATOR", bot=True)
    await ground.people.unlabel(ground.name, number, "ready")
    at = ground.later()
    await ground.people.label(ground.name, number, "Ready", author="helpful[bot]")
    found = await ground.forge.labelling(ground.name, number, "ready")
    assert found is not None
    assert (found.actor, found.is_bot, found.at, found.is_edited) == ("helpful[bot]", True, at, False)
    assert await ground.forge.labelling(ground.name, number, "never") is None


@pytest.mark.parametrize("change", [{"title": "Another"}, {"body": "Another"}])
async def test_what_was_changed_after_the_label_is_edited(ground: Ground, change: dict[str, str]) -> None:
    number = await ground.people.open_issue(ground.name, "One", "Text")
    ground.later()
    await ground.people.edit_issue(ground.name, number, **change)
    ground.later()
    await ground.people.label(ground.name, number, "ready")
    before = await ground.forge.labelling(ground.name, number, "ready")
    ground.later()
    await ground.people.edit_issue(ground.name, number, **dict.fromkeys(change, "Once more"))
    after = await ground.forge.labelling(ground.name, number, "ready")
    assert before is not None
    assert after is not None
    assert (before.is_edited, after.is_edited) == (False, True)


async def test_who_may_write_is_told_from_who_may_not(ground: Ground) -> None:
    ground.people.add_user("rita")
    ground.people.add_user("carl", association="CONTRIBUTOR")
    may = {
        name: await ground.forge.may_write(ground.name, name)
        for name in (OWNER, "overlord-agent", "rita", "carl", "ghost")
    }
    assert [name for name, allowed in may.items() if allowed] == [OWNER, "overlord-agent"]
    with pytest.raises(ForgeMissing):
        await ground.forge.may_write(ground.name, "nobody-has-this-name")


@pytest.mark.parametrize(
    ("role", "may"),
    [("none", 0), ("read", 0), ("triage", 0), ("write", 1), ("maintain", 1), ("admin", 1)],
)
async def test_a_role_in_one_repository_says_who_may_write_there(
    ground: Ground, role: Any, may: bool
) -> None:
    ground.people.join(ground.name, "rita", role)
    ground.people.join(ground.name, OWNER, role)
    found = {name: await ground.forge.may_write(ground.name, name) for name in ("rita", OWNER)}
    assert found == {"rita": may, OWNER: may}


async def test_issues_changed_since_a_moment_are_listed_closed_ones_too(ground: Ground) -> None:
    await ground.people.open_issue(ground.name, "Old")
    since = ground.later()
    closed = await ground.people.open_issue(ground.name, "Closed")
    ground.later()
    await ground.people.close_issue(ground.name, closed)
    fresh = await ground.people.open_issue(ground.name, "Fresh")
    found = await ground.forge.issues_since(ground.name, since)
    assert [(state.issue.number, state.open) for state in found] == [(closed, False), (fresh, True)]
    assert found[-1].updated_at == ground.clock.now()


async def test_comments_since_a_moment_name_their_issue_and_who_wrote_them(ground: Ground) -> None:
    number = await ground.people.open_issue(ground.name, "One")
    await ground.people.comment(ground.name, number, "Too early")
    since = ground.later()
    ground.people.add_user("helpful[bot]", bot=True)
    first = await ground.people.comment(ground.name, number, "First")
    second = await ground.people.comment(ground.name, number, "Second", author="helpful[bot]")
    found = await ground.forge.comments_since(ground.name, since)
    assert [(item.id, item.number, item.comment.author, item.is_bot) for item in found] == [
        (first, number, OWNER, False),
        (second, number, "helpful[bot]", True),
    ]
    assert found[0].comment.association == "OWNER"
    assert found[0].at == since


async def test_a_reaction_is_there_once_however_often_it_is_made(ground: Ground) -> None:
    number = await ground.people.open_issue(ground.name, "One")
    comment = await ground.people.comment(ground.name, number, "/overlord work")
    for _ in range(2):
        await ground.forge.react(ground.name, comment, Reaction.SEEN)
    assert [(item.content, item.login) for item in ground.people.reactions(comment)] == [
        ("eyes", "overlord-agent")
    ]
