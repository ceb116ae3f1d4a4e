"""What is spent: reserved before, never over a cap, told at four fifths, and a question when it is gone."""

import asyncio

from overlord.domain.budgets.budget import NANO
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, status, submit
from overlord.errors import Refused, SettingsError
from overlord.store import evidence, sessions
from overlord.store.budgets import exchanges
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import FIX, REPO, World

DEAR = {"scripted": {"input": 100, "output": 100}}
"""A token costs a hundredth of a cent, so a turn of a Minion costs around ten cents."""


async def spend(world: World) -> None:
    """An issue whose session goes on until its money is gone."""
    await world.issue("add() subtracts")
    world.model_will(run("true"), *(run(f"echo {index}") for index in range(60)))
    await world.settle()


async def test_a_job_that_has_spent_its_dollars_waits_and_more_lets_it_go_on() -> None:
    async with made_memory_world(budget={"job_usd": 4, "completion_tokens": 500}, prices=DEAR) as world:
        await spend(world)
        [decision] = await world.decisions()
        assert (decision.subject, decision.options) == (Subject.BUDGET, ("$4",))
        assert decision.body.splitlines()[0] == "Spent: this job's budget ($4.00)."
        cost = await world.read(exchanges.job_cost, 1)
        assert 3.2 * NANO < cost <= 4 * NANO
        events = await world.events()
        assert (events.count("budget_warned"), events.count("budget_spent")) == (1, 1)
        world.model.forget()
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.ADD_BUDGET, "$2.50")
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0)
        assert "model calls for $" in world.forge.pulls(REPO)[0].body


async def test_a_day_has_its_budget_and_the_next_day_another() -> None:
    async with made_memory_world(budget={"day_tokens": 30_000, "completion_tokens": 500}) as world:
        await spend(world)
        [decision] = await world.decisions()
        assert decision.body.startswith("Spent: today's budget (30,000 tokens).")
        world.clock.move(24 * 3600)
        world.model.forget()
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.ADD_BUDGET, "1")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_every_session_leaves_its_transcript_as_evidence() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(status(400, text=f"no {world.model.key}"))
        await world.settle()
        [kept] = [item for item in await world.read(evidence.exhibits, 1) if item.kind == "transcript"]
        text = world.overlord.parts.evidence.get(kept.sha256).decode()
        assert '"status": 400' in text and "add() subtracts" in text and "no [redacted]" in text
        folders = world.overlord.parts.home
        assert not folders.transcript("j1-work-1").exists()


async def test_the_keys_are_in_nothing_that_is_kept() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts", f"Use {'sk-' + 'x' * 40} for it.")
        world.model_will(status(401, text=f"Incorrect API key: {world.model.key}"))
        await world.settle()
        home = world.overlord.parts.home.root
        kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
        assert not [
            text for text in kept for key in (world.model.key, world.forge.token) if key.encode() in text
        ]


async def test_a_cap_in_dollars_over_a_model_without_a_price_is_refused_at_start() -> None:
    async with made_memory_world(budget={"space_day_usd": 5}) as world:
        try:
            await world.start()
        except SettingsError as error:
            assert str(error).startswith(
                "budget.space_day_usd caps dollars, and nobody said what scripted costs"
            )
        else:
            raise AssertionError("it started")


async def test_a_session_that_was_warned_goes_on() -> None:
    async with made_memory_world(budget={"session_tokens": 30_000, "completion_tokens": 500}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), *(run(f"echo {index}") for index in range(4)), submit())
        await world.settle()
        [work] = [item for item in await world.read(sessions.of_job, 1) if item.kind == "work"]
        assert work.exhausted is None
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_the_first_answer_of_the_wrong_kind_is_refused_with_the_right_one() -> None:
    async with made_memory_world(budget={"job_tokens": 9_000, "completion_tokens": 500}) as world:
        await spend(world)
        [decision] = await world.decisions()
        for text in ("$2", "much", "0"):
            said = await asyncio.gather(world.answer(decision, Verb.ADD_BUDGET, text), return_exceptions=True)
            error = said[0]
            assert isinstance(error, Refused)
            assert "9000" in error.worded(lambda ref: " ".join(ref.arguments))
