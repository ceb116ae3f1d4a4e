"""A repository without tests, from the terminal: asked once, answered, and taken back."""

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit, write
from tests.memory.world import made_memory_world
from tests.scenarios.test_space_verbs import Typed
from tests.scenarios.test_space_verbs import typed as typed  # noqa: PLC0414 - a fixture
from tests.world import CALC, FIX, REPO


async def test_tests_are_written_first_where_a_person_says_so_and_that_can_be_taken_back(
    typed: Typed,
) -> None:
    async with made_memory_world({"calc.py": CALC["calc.py"]}) as world:
        await world.issue("add() subtracts")
        await world.settle()
        code, said = await typed(world, "decisions", "show", "1")
        assert (code, "Not judged: whether the code works. No test is run." in said) == (0, True)
        assert "overlord answer 1 write_tests" in said
        world.model_will(edit(*FIX), submit())
        world.model_will(write("tests/test_calc.py", CALC["tests/test_calc.py"]), submit())
        assert (await typed(world, "decisions", "answer", "1", "write_tests"))[0] == 0
        await world.settle()
        first = world.model.messages(0)[1]["content"]
        assert "Write tests first. Along with the change, add at least one test" in first
        assert (await world.job()).state is JobState.IN_REVIEW
        scores = [(check.score, check.summary) for check in await world.checks() if check.name == "tests"]
        assert scores[0][0] == "needs_revision" and scores[0][1].startswith("no test was run")
        assert scores[1][0] == "pass" and scores[1][1].startswith("2 passed, 2 new")

        code, said = await typed(world, "space", "show", "calc")
        assert (code, "It has no tests: each change brings its own tests (said by alice on " in said) == (
            0,
            True,
        )
        code, said = await typed(world, "space", "tests", "calc", "--ask-again")
        assert (code, "counts no more" in said) == (0, True), said
        code, said = await typed(world, "space", "tests", REPO, "--ask-again")
        assert (code, "nothing was said about missing tests" in said) == (5, True), said
        code, said = await typed(world, "space", "tests", "calc")
        assert (code, "nothing was said" in said) == (0, True)
