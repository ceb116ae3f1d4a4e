"""A Minion asks while it works: a person answers, nobody answers, a person widens the scope."""

from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.store import decisions
from tests.world import FIX, REPO, World, made_world

ASK = call("ask_question", question="Plus or minus?", options=["plus", "minus"])


async def test_an_answer_reaches_the_minion_that_waits() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(ASK, edit(*FIX), submit())
        [question] = await _asked(world)
        assert (question.subject, question.options) == (Subject.QUESTION, ("plus", "minus"))
        await world.answer(question, Verb.REPLY, "plus")
        await world.settle()
        assert _tool_result(world) == "A person answered: plus"
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_without_an_answer_in_time_the_minion_goes_on() -> None:
    async with made_world(questions={"wait_s": 60}) as world:
        await world.issue("add() subtracts")
        world.model_will(ASK, edit(*FIX), submit())
        [question] = await _asked(world)
        world.clock.move(61)
        world.overlord.bell.ring()
        await world.settle()
        assert _tool_result(world).startswith("Nobody answered in time.")
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.read(decisions.get, question.id)).state is DecisionState.EXPIRED


async def test_a_granted_scope_holds_at_once_and_on_the_diff() -> None:
    async with made_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() subtracts")
        ask = call("ask_question", question="May I mend calc.py?", kind="scope", patterns=["calc.py"])
        world.model_will(ask, edit(*FIX), submit())
        [request] = await _asked(world)
        assert (request.kind, request.patterns) == ("approval", ("calc.py",))
        await world.answer(request, Verb.GRANT)
        await world.settle()
        assert "You may now write: tests/**, calc.py." in _tool_result(world)
        assert (await world.checks())[0].score == "pass"
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_refused_scope_changes_nothing() -> None:
    async with made_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() subtracts")
        ask = call("ask_question", question="May I mend calc.py?", kind="scope", patterns=["calc.py"])
        world.model_will(ask, edit(*FIX), call("task_blocked", reason="calc.py is closed to me"))
        [request] = await _asked(world)
        await world.answer(request, Verb.REFUSE, "mend the test instead")
        await world.settle()
        assert "mend the test instead" in _tool_result(world)
        [decision] = await world.decisions()
        assert decision.subject is Subject.BLOCKED


async def _asked(world: World) -> list[Decision]:
    await world.make_due()
    await world.until(world.decisions)
    # The question may have come after the last pass looked; from here on it is waited for.
    await world.overlord.turn()
    return list(await world.decisions())


def _tool_result(world: World) -> str:
    """What the Minion was told by its first tool call."""
    return str(next(m["content"] for m in world.minion_heard() if m["role"] == "tool"))
