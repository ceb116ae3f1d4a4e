"""A Minion asks while it works: a person answers, nobody answers, a person widens the scope."""

from minion.protocol import SessionKind
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import Turn, call, edit, run, submit, write
from overlord.store import decisions, sessions
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import CALC, FIX, REPO, World

ASK = call("ask_question", question="Plus or minus?", options=["plus", "minus"])
MINE = call("ask_question", question="May I mend calc.py?", kind="scope", patterns=["calc.py"])
STRAY = run("sed -i s/Adds/Doubles/ README.md")


def more_tests(number: int) -> Turn:
    """A test that is new, and inside the scope."""
    text = f"from calc import add\n\n\ndef test_{number}():\n    assert add({number}, 1) == {number + 1}\n"
    return write(f"tests/test_{number}.py", text)


async def test_an_answer_reaches_the_minion_that_waits() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(ASK, edit(*FIX), submit())
        [question] = await _asked(world)
        assert (question.subject, question.options) == (Subject.QUESTION, ("plus", "minus"))
        await world.answer(question, Verb.REPLY, "plus")
        await world.settle()
        assert _tool_result(world) == "A person answered: plus"
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_without_an_answer_in_time_the_minion_goes_on() -> None:
    async with made_memory_world(questions={"wait_s": 60}) as world:
        await world.issue("add() subtracts")
        world.model_will(ASK, edit(*FIX), submit("I assumed plus."))
        [question] = await _asked(world)
        world.clock.move(61)
        world.overlord.wakeup.notify()
        await world.settle()
        assert _tool_result(world).startswith("Nobody answered in time.")
        assert "say in your summary what you assumed" in _tool_result(world)
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.read(decisions.get, question.id)).state is DecisionState.EXPIRED
        [pull] = world.forge.pulls(REPO)
        assert "> I assumed plus." in pull.body
        assert ": Plus or minus?” in time; the Minion went on" in pull.body


async def test_a_granted_scope_holds_at_once_and_on_the_diff() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
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


async def test_what_was_allowed_once_stays_while_the_next_session_may_not_write_there() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() subtracts")
        world.model_will(MINE, edit(*FIX), STRAY, submit())
        world.model_will(more_tests(3), submit())
        [request] = await _asked(world)
        await world.answer(request, Verb.ONCE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        first, second = await _work(world)
        assert ("calc.py" in first.scope, "calc.py" in second.scope) == (True, False)
        branch = (await world.job()).branch
        assert "return a + b" in await world.git_show(branch, "calc.py")
        assert await world.git_show(branch, "README.md") == CALC["README.md"]


async def test_a_later_change_to_what_was_allowed_once_is_taken_out_and_nothing_else_is() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() subtracts")
        world.model_will(MINE, edit(*FIX), STRAY, submit())
        world.model_will(run("echo '# mine' >> calc.py"), more_tests(3), submit())
        world.model_will(more_tests(4), submit())
        [request] = await _asked(world)
        await world.answer(request, Verb.ONCE)
        await world.settle()
        *_, standstill = await world.decisions()
        await world.answer(standstill, Verb.ONE_MORE)
        await world.settle()
        assert [session.dropped for session in await _work(world)] == [("README.md",), ("calc.py",), ()]
        branch = (await world.job()).branch
        assert await world.git_show(branch, "calc.py") == CALC["calc.py"].replace("a - b", "a + b")
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_refused_scope_changes_nothing() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        await world.issue("add() subtracts")
        ask = call("ask_question", question="May I mend calc.py?", kind="scope", patterns=["calc.py"])
        world.model_will(ask, edit(*FIX), call("task_blocked", reason="calc.py is closed to me"))
        [request] = await _asked(world)
        await world.answer(request, Verb.REFUSE, "mend the test instead")
        await world.settle()
        assert "mend the test instead" in _tool_result(world)
        [decision] = await world.decisions()
        assert decision.subject is Subject.BLOCKED


async def _work(world: World) -> list[Session]:
    return [session for session in await world.read(sessions.of_job, 1) if session.kind is SessionKind.WORK]


async def _asked(world: World) -> list[Decision]:
    await world.make_due()
    await world.until(world.decisions)
    # The question may have come after the last pass looked; from here on it is waited for.
    await world.overlord.turn()
    return list(await world.decisions())


def _tool_result(world: World) -> str:
    """What the Minion was told by its first tool call."""
    return str(next(m["content"] for m in world.minion_heard() if m["role"] == "tool"))
