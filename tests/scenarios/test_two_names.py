"""One repository under two names is worked on under one of them, and a person says what becomes of the other."""

import pytest

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.errors import SettingsError
from overlord.store.spaces import spaces
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

NEW = "acme/sums"
WORK = (edit(*FIX), submit())


async def renamed(world: World) -> Decision:
    """It is known by its old name, renamed at the forge, and then its new name is put into Overlord's care beside that."""
    world.write_settings(f"repositories: [{REPO}]")
    await world.settle()
    await world.forge.rename_repository(REPO, NEW)
    await world.forge.open_issue(NEW, "add() subtracts", "", labels=["nebulus-ready"])
    world.write_settings(f"repositories: [{REPO}, {NEW}]")
    await world.until_settings_are_read()
    await world.settle()
    [asked] = await world.decisions()
    return asked


async def test_the_new_name_of_a_renamed_repository_is_paused_beside_its_old_one() -> None:
    async with made_memory_world(repositories=None) as world:
        asked = await renamed(world)
        assert (asked.subject, asked.space) == (Subject.SPACE_DOUBLED, NEW)
        assert asked.body.startswith(f"At GitHub {NEW} and {REPO} are the same repository")
        assert (await world.read(spaces.get, NEW)).paused
        assert await world.jobs() == []
        assert "it has moved" in (await world.read(spaces.get, REPO)).trouble
        await world.stop()
        await world.settle()
        assert await world.jobs() == [], "a restart does not forget it"


async def test_once_the_old_name_is_taken_out_the_new_one_goes_on() -> None:
    async with made_memory_world(repositories=None) as world:
        asked = await renamed(world)
        world.write_settings(f"repositories: [{NEW}]")
        await world.until_settings_are_read()
        world.model_will(*WORK)
        await world.answer(asked, Verb.RETRY)
        await world.settle()
        [job] = await world.jobs()
        assert (job.space, job.state) == (NEW, JobState.IN_REVIEW)


async def test_trying_again_while_both_are_named_asks_again() -> None:
    async with made_memory_world(repositories=None) as world:
        asked = await renamed(world)
        await world.answer(asked, Verb.RETRY)
        await world.settle()
        [again] = await world.decisions()
        assert (again.subject, again.id != asked.id) == (Subject.SPACE_DOUBLED, True)
        assert await world.jobs() == []


async def test_two_names_that_differ_in_case_alone_are_refused_before_anything_is_asked() -> None:
    async with made_memory_world(repositories=[REPO, REPO.upper()]) as world:
        with pytest.raises(SettingsError, match=f"the same repository is listed twice: {REPO}"):
            await world.start()


async def test_a_new_repository_under_an_old_name_is_another_one() -> None:
    async with made_memory_world(repositories=[NEW, REPO]) as world:
        await world.forge.rename_repository(REPO, NEW)
        await world.forge.create_repository(REPO, files={"README.md": "# Another\n"})
        await world.settle()
        assert await world.decisions() == []
        ids = {name: (await world.read(spaces.get, name)).forge_id for name in (REPO, NEW)}
        assert None not in ids.values()
        assert len(set(ids.values())) == 2
