"""What the judge sees, from outside, and the tricks that must not work. Its rules are in tests/engine/test_evaluate.py."""

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, World, made_world


async def _scores(world: World) -> list[tuple[str, str | None]]:
    return [(check.name, check.score) for check in await world.checks()]


async def test_five_checks_make_a_pass() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        names = ["scope", "integrity", "tests", "lint", "review"]
        assert await _scores(world) == [(name, "pass") for name in names]


async def test_new_lint_findings_are_sent_back_and_old_ones_are_not() -> None:
    calc = "import os\n" + CALC["calc.py"]
    async with made_world({**CALC, "calc.py": calc, "ruff.toml": "lint.select = ['F']\n"}) as world:
        await world.issue("add() subtracts")
        world.model_will(write("calc.py", "import sys\n" + calc.replace("a - b", "a + b")), submit("first"))
        world.model_will(edit("calc.py", "import sys\n", ""), submit("second"))
        await world.settle()
        lint = [check for check in await world.checks() if check.name == "lint"]
        assert [(check.score, [(f.rule, f.file) for f in check.findings]) for check in lint] == [
            ("needs_revision", [("F401", "calc.py")]),
            ("pass", []),
        ]


async def test_changed_test_configuration_is_a_persons_gate() -> None:
    async with made_memory_world(infer_scope=False) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), write("conftest.py", "collect_ignore = []\n"), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.PROTECTED_CHANGE
        assert "collect_ignore" in decision.body
        await world.answer(decision, Verb.ACCEPT)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.events())[-2:] == ["gate_approved", "delivered"]


async def test_a_deleted_test_is_named_and_the_old_one_still_counts() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(
            run("rm tests/test_calc.py"),
            write("tests/test_other.py", "def test_x():\n    pass\n"),
            submit("1"),
        )
        put_back = write("tests/test_calc.py", CALC["tests/test_calc.py"])
        world.model_will(put_back, run("rm tests/test_other.py"), edit(*FIX), submit("2"))
        await world.settle()
        first = (await world.checks())[2]
        assert (first.name, first.score) == ("tests", "needs_revision")
        assert [found.rule for found in first.findings] == ["red-test-gone", "tests-gone", "unproven"]
        assert (await world.job()).state is JobState.IN_REVIEW


# What else is tried on the way to the judge is in tests/minion/test_checks_judge.py.
TRICKS = {
    "sitecustomize.py": "import os, sys\nos._exit(0)\n",
    "tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
}


@pytest.mark.parametrize("path", TRICKS)
async def test_a_forged_test_run_does_not_pass(path: str) -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit("calc.py", "a * 2", "a * 3"), write(path, TRICKS[path]), submit("forged"))
        await world.settle()
        assert (await world.job()).state is JobState.WAITING
        tests = [check for check in await world.checks() if check.name == "tests"]
        assert tests
        assert all(check.score != "pass" for check in tests)


async def test_the_checks_of_the_repository_itself_are_read_at_base() -> None:
    own = "tests: {command: 'sh run-tests.sh', timeout_s: 60}\nlint: 'true'\n"
    files = {**CALC, ".nebulus/checks.yaml": own, "run-tests.sh": "grep -q 'a + b' calc.py\n"}
    async with made_world(files) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        tests = next(check for check in await world.checks() if check.name == "tests")
        assert tests.score == "pass", tests
