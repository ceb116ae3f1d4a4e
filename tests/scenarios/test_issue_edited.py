"""An issue that is edited while it is worked on: the work keeps its text, people are told, and asked before the next brief."""

from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, edit, submit
from overlord.engine.conversation import edited_issue
from overlord.errors import ForgeUnavailable, Refused
from overlord.store import jobs
from tests.engine.between import Instead, forge_world
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

OLD, NEW, NEWER = "Mend add().", "Mend sub(), says @everyone.", "Mend mul()."
TOLD = "The issue was edited after work began."


def comment(world: World, number: int = 1) -> str:
    [said] = [item.body for item in world.forge.comments(REPO, number) if "overlord:job" in item.body]
    return said


async def text_is(world: World, body: str, number: int = 1) -> None:
    """Somebody edits the issue, and Overlord comes by."""
    world.clock.move(60)
    await world.forge.edit_issue(REPO, number, body=body)
    await world.settle()


async def waiting(world: World) -> Decision:
    """A job that waits for a person because its Minion cannot go on."""
    await world.issue("add() subtracts", OLD)
    world.model_will(blocked("Which one?"))
    await world.settle()
    return (await world.decisions())[0]


async def asked(world: World) -> Decision:
    """A job whose next brief waits for a person to say which text counts."""
    first = await waiting(world)
    await text_is(world, NEW)
    assert (await world.decisions()) == [first]
    await world.answer(first, Verb.RETRY)
    await world.settle()
    [decision] = await world.decisions()
    return decision


def brief(world: World) -> str:
    return str(world.minion_heard()[1]["content"])


async def test_work_under_way_keeps_its_text_and_the_comment_says_what_happened() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts", OLD)
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.forge.edit_issue(REPO, number, body=NEW)
        await world.make_due()
        await world.until(lambda: TOLD in comment(world))
        world.let_go()
        await world.settle()
        await world.until(lambda: "in review" in comment(world))
        job = await world.job()
        assert (job.state, job.issue.body) == (JobState.IN_REVIEW, OLD)
        assert job.edited_issue is not None and job.edited_issue.body == NEW
        assert (await world.events()).count("issue_edited") == 1
        assert TOLD in comment(world)
        await world.forge.comment(REPO, number, "Nothing new.")
        await text_is(world, OLD)
        await world.until(lambda: TOLD not in comment(world))
        assert (await world.job()).edited_issue is None


async def test_the_next_brief_is_not_made_before_a_person_said_which_text_counts() -> None:
    async with made_memory_world() as world:
        decision = await asked(world)
        assert (decision.subject, decision.verbs) == (
            Subject.ISSUE_EDITED,
            (Verb.ADOPT, Verb.KEEP, Verb.DROP),
        )
        assert f"-{OLD}\n+{NEW}" in decision.body
        assert (await world.job()).reason == TOLD
        await world.until(lambda: f"`/overlord answer {decision.id} keep`" in comment(world))
        assert (await world.events()).count("session_started") == 1


async def test_the_new_text_is_worked_on_when_a_person_says_so() -> None:
    async with made_memory_world() as world:
        decision = await asked(world)
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.ADOPT)
        await world.settle()
        job = await world.job()
        assert (job.state, job.issue.body, job.edited_issue) == (JobState.IN_REVIEW, NEW, None)
        assert "Mend sub()" in brief(world)
        await world.until(lambda: "in review" in comment(world))
        assert TOLD not in comment(world)


async def test_a_text_that_was_declined_is_not_asked_about_again_and_another_is() -> None:
    async with made_memory_world() as world:
        decision = await asked(world)
        world.model_will(blocked("Still not clear."))
        await world.answer(decision, Verb.KEEP)
        await world.settle()
        assert OLD in brief(world) and "Mend sub()" not in brief(world)
        [stuck] = await world.decisions()
        world.model_will(blocked("No."))
        await world.answer(stuck, Verb.RETRY)
        await world.settle()
        [stuck] = await world.decisions()
        assert stuck.subject is Subject.BLOCKED
        await text_is(world, NEWER)
        await world.answer(stuck, Verb.RETRY)
        await world.settle()
        [again] = await world.decisions()
        assert again.subject is Subject.ISSUE_EDITED and NEWER in again.body


async def test_a_further_edit_is_another_question_and_the_old_one_takes_no_answer() -> None:
    async with made_memory_world() as world:
        old = await asked(world)
        await text_is(world, NEWER)
        [decision] = await world.decisions()
        assert NEWER in decision.body and decision.digest != old.digest
        with pytest.raises(Refused, match="superseded"):
            await world.answer(old, Verb.ADOPT)
        await world.until(lambda: f"answer {decision.id} " in comment(world))
        assert f"answer {old.id} " not in comment(world)


async def test_an_edit_that_is_taken_back_asks_nobody_any_more() -> None:
    async with made_memory_world() as world:
        await asked(world)
        world.model_will(edit(*FIX), submit())
        await text_is(world, OLD)
        job = await world.job()
        assert (job.state, job.issue.body, job.edited_issue) == (JobState.IN_REVIEW, OLD, None)
        assert await world.decisions() == []


async def test_an_answer_is_for_the_text_that_was_shown_and_no_other() -> None:
    async with made_memory_world() as world:
        decision = await asked(world)
        await world.answer(decision, Verb.ADOPT)
        job = await world.job()
        newest = replace(job.issue, body=NEWER)
        assert await edited_issue.look(world.overlord.parts, RepositoryName(REPO), job, newest)
        await world.until(world.is_settled)
        [again] = await world.decisions()
        assert NEWER in again.body and again.id != decision.id
        assert (await world.job()).issue.body == OLD


async def test_before_the_first_brief_a_person_is_asked_too() -> None:
    async with made_memory_world(sessions={"concurrent": 1, "grace_s": 1}) as world:
        await world.issue("add() subtracts", OLD)
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        second = await world.issue("double() halves", OLD)
        await world.make_due()
        await world.until(lambda: _is_there(world, 2))
        await world.forge.edit_issue(REPO, second, title="double() leaks")
        await world.make_due()
        await world.until(lambda: _is_edited(world, 2))
        world.let_go()
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.job_id, decision.subject) == (2, Subject.ISSUE_EDITED)
        assert "-double() halves\n+double() leaks" in decision.body
        assert "session_started" not in await world.events(2)


async def _is_there(world: World, number: int) -> bool:
    return len(await world.jobs()) >= number


async def _is_edited(world: World, number: int) -> bool:
    return (await world.job(number)).edited_issue is not None


@pytest.mark.parametrize("how", ["label", "comment"])
async def test_who_asks_for_work_again_asks_for_the_text_as_it_stands(how: str) -> None:
    async with made_memory_world() as world:
        await asked(world)
        await world.until(lambda: "waiting for a person" in comment(world))
        world.model_will(edit(*FIX), submit())
        world.clock.move(60)
        if how == "label":
            await world.forge.label(REPO, 1, "nebulus-ready")
        else:
            await world.forge.comment(REPO, 1, "/overlord work")
        await world.settle()
        job = await world.job()
        assert (job.state, job.issue.body, job.edited_issue) == (JobState.IN_REVIEW, NEW, None)
        assert await world.decisions() == []


async def test_what_people_do_not_see_in_a_text_is_no_edit_and_neither_are_labels_and_comments() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts", f"<!-- Describe it. -->\n{OLD}")
        world.model_will(blocked("Which one?"))
        await world.settle()
        await world.forge.comment(REPO, number, "Any news?")
        await world.forge.label(REPO, number, "bug")
        await text_is(world, f"<!-- Describe it. -->\r\n{OLD}")
        assert (await world.job()).edited_issue is None
        assert "issue_edited" not in await world.events()


async def edited_meanwhile(world: World) -> None:
    """A poll that notes an edit while something else of the job is under way."""
    job = await world.job()
    await world.forge.edit_issue(REPO, job.issue.number, body=NEW)
    assert await edited_issue.look(
        world.overlord.parts, RepositoryName(REPO), job, replace(job.issue, body=NEW)
    )


async def test_an_edit_that_is_noted_while_the_comment_is_written_is_told_too() -> None:
    async with forge_world() as (world, forge):
        await waiting(world)
        await world.until(lambda: "waiting for a person" in comment(world))

        async def writing(real: Instead, *arguments: Any) -> None:
            forge.is_well()
            await real(*arguments)
            await edited_meanwhile(world)

        forge.instead["edit_comment"] = writing
        database = world.overlord.parts.database
        await database.write("by hand", lambda c: jobs.repair(c, 1, projected="? "))
        await world.until(lambda: TOLD in comment(world))


async def test_an_edit_that_is_noted_while_a_brief_is_made_is_asked_about_all_the_same() -> None:
    async with forge_world() as (world, forge):
        await world.issue("add() subtracts", OLD)

        early: list[Any] = []

        async def fetching(real: Instead, *arguments: Any) -> Any:
            if not early:  # while the issue is claimed; dispatch fetches again
                early.append(arguments)
                raise ForgeUnavailable("not now")
            forge.is_well()
            await edited_meanwhile(world)
            return await real(*arguments)

        forge.instead["remote"] = fetching
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ISSUE_EDITED
        assert "session_prepared" not in await world.events()


async def test_a_job_that_ended_meanwhile_is_not_touched() -> None:
    async with made_memory_world() as world:
        await waiting(world)
        job = await world.job()
        await world.stop_job()
        newer = replace(job.issue, body=NEW)
        assert not await edited_issue.look(world.overlord.parts, RepositoryName(REPO), job, newer)
        assert "issue_edited" not in await world.events()
