"""A day of a portfolio: three repositories with goals, one trigger, and six merged pull requests with all that comes between."""

import contextlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from overlord.domain.job import Job, JobState
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.store.knowledge import notes
from overlord.store.portfolio import escalations, initiatives, tasks
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.portfolio_played import (
    API,
    CALC_REPO,
    DATES,
    DIVIDE,
    ENVELOPE,
    FILES,
    FORM,
    KEY,
    LEARNED,
    MODULO,
    NO_KEY,
    SETTINGS,
    STAGING,
    SUBTRACT,
    WEB,
    WHICH_FORM,
    WHICH_STORE,
    made_repositories,
    played,
    write_overviews,
)
from tests.quick import made_quick_talk

Made = Callable[..., contextlib.AbstractAsyncContextManager[Talk]]
MORNING = datetime(2026, 3, 3, 8, 1, tzinfo=UTC)


async def every_task(talk: Talk) -> dict[str, Task]:
    """By subject."""
    found: list[Task] = []
    for initiative in await every_initiative(talk):
        found += await talk.world.read(tasks.of_initiative, initiative.id)
    return {task.subject: task for task in found}


async def every_initiative(talk: Talk) -> list[Initiative]:
    return [await talk.world.read(initiatives.get, number) for number in (1, 2, 3)]


async def job_of(talk: Talk, task: dict[str, object]) -> Job:
    [job] = [job for job in await talk.world.jobs() if job.issue.title == task["subject"]]
    return job


async def merged(talk: Talk, *of: dict[str, object]) -> None:
    """People merge the pull requests of these tasks."""
    for task in of:
        job = await job_of(talk, task)
        assert job.state is JobState.IN_REVIEW, (task, job)
        await talk.world.forge.merge(job.space, job.pull_number or 0)
    await talk.world.settle()


@pytest.mark.parametrize("made", [made_memory_talk, made_quick_talk], ids=["memory", "processes"])
async def test_a_days_work_from_one_trigger(made: Made) -> None:
    async with made(FILES, **SETTINGS) as talk:
        await made_repositories(talk.world.forge)
        played(talk.world.model, held=(talk.world.hold(),))
        await talk.world.settle()
        await a_day(talk)


async def a_day(talk: Talk) -> None:
    """From the trigger to the last merge."""
    await known_and_planned(talk)
    await approved(talk)
    await answered_while_it_runs(talk)
    await the_rest_goes_on(talk)
    await looked_back(talk)
    await told_in_the_morning(talk)
    await unblocked(talk)
    await at_the_end(talk)


async def known_and_planned(talk: Talk) -> None:
    """One convention is known; goals are written down; one word begins the day."""
    assert "Note n1 counts" in await talk.command(f"knowledge-add convention {WEB} {WHICH_FORM} {FORM}")
    write_overviews(talk.world.root / "home")
    assert talk.cards() == []
    await talk.command("portfolio-run")
    titles = {card.plain.partition("\n")[0].partition(": ")[2] for card in talk.cards("Approval")}
    assert titles == {
        "i1 Answers have one form: Plan ready: 2 tasks",
        "i2 All four operations: Plan ready: 2 tasks",
        "i3 Dates are readable: Plan ready: 1 task",
    }
    assert {task.state for task in (await every_task(talk)).values()} == {TaskState.PROPOSED}


async def approved(talk: Talk) -> None:
    """A button for each plan. What one session asks is known, and what another came upon is done as well."""
    [first] = [card for card in talk.cards("Approval") if API in card.plain]
    others = [card for card in talk.cards("Approval") if card.ts != first.ts]
    for card in others:
        await talk.press(card, "Approve")
    known = await talk.world.read(escalations.get, 1)
    assert (known.question, known.state, known.cites) == (WHICH_FORM, "resolved", "n1")
    assert FORM in known.resolution
    found = await every_task(talk)
    assert found[MODULO["subject"]].created_by.startswith("session:")
    assert found[DIVIDE["subject"]].waits == f"waits for {found[SUBTRACT['subject']].ref}"
    assert (await talk.chat.click(talk.alice, first.ts, "Approve")).acked


async def answered_while_it_runs(talk: Talk) -> None:
    """A session goes on while it is asked what it asked, and reads the answer in its next turn."""
    world = talk.world
    await world.until(lambda: talk.cards("Decision"))
    [card] = talk.cards("Decision")
    assert WHICH_STORE in card.plain
    session = f"j{(await job_of(talk, ENVELOPE)).id}-work-1"
    await world.until_holding(session)
    await world.until(lambda: talk.cards("Blocker"))
    assert (await talk.chat.click(talk.alice, card.ts, "Redis")).acked

    async def is_delivered() -> bool:
        found = await world.read(escalations.every)
        return any(item.question == WHICH_STORE and item.is_delivered for item in found)

    await world.until(is_delivered)
    world.let_go(session)
    await world.settle()
    assert (await job_of(talk, ENVELOPE)).state is JobState.IN_REVIEW
    heard = [world.model.messages(number) for number in range(len(world.model.requests))]
    assert any("Your escalation" in str(turns) and "Redis (persistent)" in str(turns) for turns in heard)


async def the_rest_goes_on(talk: Talk) -> None:
    """One task waits for a key; everything else is merged."""
    waiting = await job_of(talk, STAGING)
    assert (waiting.state, NO_KEY in waiting.reason) == (JobState.WAITING, True)
    await merged(talk, ENVELOPE, SUBTRACT, MODULO, DATES)
    await merged(talk, DIVIDE)
    states = {subject: task.state for subject, task in (await every_task(talk)).items()}
    assert states.pop(STAGING["subject"]) is TaskState.IN_PROGRESS
    assert set(states.values()) == {TaskState.DONE}, states
    assert [item.state for item in await every_initiative(talk)] == [
        InitiativeState.ACTIVE,
        InitiativeState.DONE,
        InitiativeState.DONE,
    ]


async def looked_back(talk: Talk) -> None:
    """What a session says that it learned is held against what happened, and noted."""

    async def is_noted() -> bool:
        known = await talk.world.read(notes.counting_in, CALC_REPO)
        return any(note.text == LEARNED for note in known)

    await talk.world.until(is_noted)


async def told_in_the_morning(talk: Talk) -> None:
    """The next day's briefing stands in a file and in the chat."""
    world = talk.world
    world.clock.move((MORNING - world.clock.now()).total_seconds())
    await world.settle()
    written = (world.root / "home/daily/2026-03-03.md").read_text()
    [card] = talk.cards("Briefing: ")[-1:]
    assert "BLOCKERS (1)" in card.plain
    assert f"[{API} / answers-have-one-form] {NO_KEY}" in card.plain
    assert f'Blocks: task #2 "{STAGING["subject"]}"' in card.plain
    assert "BLOCKERS (1)" in written and NO_KEY in written
    assert "(from n1)" in card.plain


async def unblocked(talk: Talk) -> None:
    """The key is there: the session is begun at once, with it in its brief."""
    [card] = talk.cards("Blocker")
    await talk.chat.say(talk.alice, KEY, thread=card.ts)
    await talk.world.settle()
    assert KEY in str(talk.world.minion_heard())
    await merged(talk, STAGING)


async def at_the_end(talk: Talk) -> None:
    """Six pull requests are merged, each thing was opened once, and what was decided is known."""
    world = talk.world
    ended = [job for job in await world.jobs() if job.pull_number is not None]
    assert Counter(job.space for job in ended) == {CALC_REPO: 3, API: 2, WEB: 1}
    assert {job.state for job in await world.jobs()} == {JobState.COMPLETED}
    issues = Counter(issue.title for name in (API, CALC_REPO, WEB) for issue in world.forge.issues(name))
    assert set(issues.values()) == {1} and len(issues) == 9, "six tasks and three initiatives, each once"
    assert not any(issue.open for name in (API, CALC_REPO, WEB) for issue in world.forge.issues(name))
    asked = Counter(escalation.question for escalation in await world.read(escalations.every))
    assert asked == {WHICH_FORM: 1, WHICH_STORE: 1, NO_KEY: 1}
    assert {item.state for item in await every_initiative(talk)} == {InitiativeState.DONE}
    noted = {note.question: note.text for note in await world.read(notes.counting_in, API)}
    assert noted[WHICH_STORE] == f"{WHICH_STORE} Redis (persistent)"
    assert list(await world.decisions()) == []
