"""An issue that a person asked for is opened once, or it is said why not: whatever the forge does."""

from datetime import timedelta

from overlord.domain.conversation.issue_request import IssueRequest, RequestKind, RequestOptions
from overlord.engine.intake import open_requested
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable
from overlord.failpoints import Failpoint
from overlord.store.bootstrap import issue_requests
from overlord.store.spaces import spaces, work_requests
from overlord.verbs.outcome import of_issue
from tests.engine.between import forge_world, heard
from tests.world import REPO, World


async def asked(world: World, space: str = REPO) -> IssueRequest:
    """Alice asks for a page; no daemon looks yet."""
    found: IssueRequest = await world.overlord.parts.database.write(
        "by hand",
        lambda c: issue_requests.request(
            c,
            space=space,
            kind=RequestKind.BUILD,
            title="A page",
            body="A page",
            options=RequestOptions(),
            actor="cli:alice",
            at=world.clock.now(),
        ),
    )
    return found


async def told(world: World, number: int = 1) -> tuple[str, bool]:
    found = await world.read(of_issue, number)
    return found.text, found.is_final


async def test_it_is_ordered_before_it_is_opened_and_asked_to_be_worked_on_after() -> None:
    async with forge_world() as (world, _):
        await asked(world)
        assert await told(world) == ("Its issue is not open yet.", False)
        with heard() as reached:
            await open_requested.step(world.overlord.parts, 1)
        points = [point for point in reached if point.startswith("issue_")]
        assert points == [Failpoint.ISSUE_ORDERED, Failpoint.ISSUE_REQUEST_SETTLED]
        row = await world.read(issue_requests.get, 1)
        wish = await world.read(work_requests.get, row.wish_id)
        assert (wish.number, wish.actor) == (1, "cli:alice")
        assert not await open_requested.step(world.overlord.parts, 1)
        assert len(world.forge.issues(REPO)) == 1


async def test_one_that_was_opened_and_not_noted_is_found_again() -> None:
    async with forge_world() as (world, forge):
        await asked(world)

        async def lost(real: object, *arguments: object, **named: object) -> int:
            await real(*arguments, **named)  # type: ignore[operator]
            raise ForgeUnavailable("no answer")

        forge.instead["open_issue"] = lost
        await tried(world)
        assert [issue.title for issue in world.forge.issues(REPO)] == ["A page"]
        forge.is_well()
        await open_requested.step(world.overlord.parts, 1)
        assert len(world.forge.issues(REPO)) == 1
        assert (await world.read(issue_requests.get, 1)).issue_number == 1


async def tried(world: World) -> None:
    try:
        await open_requested.step(world.overlord.parts, 1)
    except ForgeUnavailable:
        return
    raise AssertionError("the forge did answer")


async def test_what_the_forge_refuses_is_not_tried_again() -> None:
    for error, why in (
        (ForgeRefused("issues are disabled"), "issues are disabled"),
        (ForgeMissing("not found"), "its repository cannot be found, or Overlord may not see it"),
    ):
        async with forge_world() as (world, forge):
            await asked(world)
            forge.fails("open_issue", error)
            await open_requested.step(world.overlord.parts, 1)
            forge.is_well()
            assert await told(world) == (f"The issue was not opened: {why}.", True)
            assert await world.read(issue_requests.unopened) == []
            await world.settle()
            assert world.forge.issues(REPO) == []


async def test_a_repository_that_is_not_managed_any_more_is_told() -> None:
    async with forge_world() as (world, _):
        await asked(world, "acme/gone")
        await world.settle()
        said, is_final = await told(world)
        assert (said, is_final) == (
            "The issue was not opened: acme/gone is not managed by Overlord any more.",
            True,
        )


async def test_an_issue_that_is_not_taken_up_is_told_with_its_number() -> None:
    async with forge_world() as (world, _):
        await asked(world)
        await world.overlord.parts.database.write("by hand", lambda c: spaces.pause(c, REPO, paused=True))
        await open_requested.step(world.overlord.parts, 1)
        said, is_final = await told(world)
        assert is_final and said.startswith(f"{REPO}#1 is open for it. It was not taken up: {REPO} is paused")


async def test_a_forge_that_is_away_is_asked_again_and_its_repository_says_so() -> None:
    async with forge_world() as (world, forge):
        await asked(world)
        forge.fails("open_issue", ForgeUnavailable("no route"))
        await tried(world)
        assert await told(world) == ("Its issue is not open yet.", False)
        assert [str(error) for _, error in world.overlord.parts.unopened.values()] == ["no route"]
        forge.is_well()
        world.clock.move(timedelta(minutes=5).total_seconds())
        await world.settle()
        assert (await told(world))[0].startswith(f"{REPO}#1 is open for it.")
