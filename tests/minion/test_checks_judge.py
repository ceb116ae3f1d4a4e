"""What the judge builds on: reports that are believed, failed tests run again, output kept apart, results of other runners."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from minion.checks.check import MOST_RERUN
from minion.checks.results import packed_inside
from minion.protocol import CheckReport, CheckStep, SessionKind, StepOutcome, StepResult, Tree
from overlord.domain.changes.diff import parse_diff
from overlord.domain.checks.file import parse_checks
from overlord.domain.checks.lint import judge_lint, plan_lint
from overlord.domain.checks.testruns.judge import (
    NEW_ON_BASE_STEP,
    baseline_of,
    changed_lines,
    judge_tests,
    plan_tests,
)
from overlord.domain.checks.testruns.run import read_run
from overlord.domain.evaluation import CheckResult, CheckScore
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from tests.domain.differ import edit, together
from tests.minion.session_api import SessionApi, opened

Run = Callable[[SessionApi], int]
Files = Mapping[str, str | None]
Checked = Callable[..., list[StepResult]]
Judged = Callable[..., CheckResult]

EXITED = Ending(kind=EndKind.EXITED, exit_code=0)
CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
}
BROKEN = "def add(a, b):\n    return 4\n"


@pytest.fixture
def checked(run: Run) -> Iterator[Checked]:
    """Run steps over base and change, with a session API of their own each time."""
    with ExitStack() as stack:

        def check(files: Files, *steps: CheckStep, change: Files | None = None) -> list[StepResult]:
            root = Path(stack.enter_context(TemporaryDirectory(prefix="m-", dir="/tmp")))
            session_api = stack.enter_context(
                opened(root, files, change=change, kind=SessionKind.CHECK, steps=steps)  # type: ignore[arg-type]
            )
            assert run(session_api) == 0
            return list(session_api.check_report.steps)

        yield check


@pytest.fixture
def judged(checked: Checked) -> Judged:
    """The tests' verdict on a change, as the engine asks for it; a baseline once measured is kept."""

    def judge(
        files: Files, change: Files, checks: bytes | None = None, *, in_full: bool = False
    ) -> CheckResult:
        changes = [
            Change(path=path, status="D" if text is None else "M" if path in files else "A")
            for path, text in change.items()
        ]
        parsed = parse_checks(checks)
        key = repr((files, checks))
        steps = plan_tests(changes, parsed, 60, with_baseline=key not in BASELINES)
        if not in_full:
            steps = tuple(replace(step, reruns=0) for step in steps if step.name != NEW_ON_BASE_STEP)
        report = CheckReport(steps=tuple(checked(files, *steps, change=change)))
        if baseline := baseline_of(report):
            BASELINES[key] = baseline
        return judge_tests(BASELINES.get(key), report, EXITED, changes, parsed)

    return judge


BASELINES: dict[str, StepResult] = {}


def rules(result: CheckResult) -> set[str]:
    return {finding.rule for finding in result.findings}


def test_an_honest_change_passes(judged: Judged) -> None:
    test = CALC["test_calc.py"] + "\n\ndef test_zero():\n    assert calc.zero() == 0\n"
    result = judged(
        CALC,
        {"calc.py": CALC["calc.py"] + "\n\ndef zero():\n    return 0\n", "test_calc.py": test},
        in_full=True,
    )
    assert result.score is CheckScore.PASS
    assert result.summary.startswith("2 passed, 1 new (1 of them fail on base), 0 fixed, 0 broken in ")


def test_the_changes_tests_run_by_themselves_and_bases_as_a_whole(checked: Checked) -> None:
    files = {
        **CALC,
        "test_more.py": "def test_more():\n    pass\n",
        "test_old.py": "def test_old():\n    pass\n",
    }
    change = {"test_new.py": "def test_new():\n    pass\n", "test_old.py": "def test_other():\n    pass\n"}
    changes = [Change(path="test_new.py", status="A"), Change(path="test_old.py", status="M")]
    base, own = checked(files, *plan_tests(changes, None, 60, with_baseline=False), change=change)
    assert own.command == ("python", "-P", "-m", "pytest", "test_new.py", "test_old.py")
    assert {name for name in ("test_add", "test_more", "test_old") if name in (base.junit or "")} == {
        "test_add",
        "test_more",
        "test_old",
    }
    assert "test_new" not in (base.junit or "") and "test_other" not in (base.junit or "")
    assert "test_add" not in (own.junit or "") and "test_other" in (own.junit or "")


def test_a_test_file_of_the_change_does_not_reach_bases_tests(judged: Judged) -> None:
    spoils = (
        "import calc\n\ncalc.add = lambda a, b: a + b\n\n\ndef test_it():\n    assert calc.add(1, 1) == 2\n"
    )
    result = judged(CALC, {"calc.py": BROKEN, "test_aaa.py": spoils})
    assert result.score is CheckScore.NEEDS_REVISION
    assert "test-broken" in rules(result)


FORGED = """\
<testsuites><testsuite><testcase classname="test_calc" name="test_add" file="test_calc.py"/></testsuite></testsuites>
"""
WRITE = f"pathlib.Path(sys.argv[1], 'junit.xml').write_text({FORGED!r})"
FORGERIES = {
    "leaves before the end": "import os\nos._exit(0)\n",
    "writes a report and leaves": f"import os, pathlib, sys\n{WRITE}\nos._exit(0)\n",
    "writes a report at the end": f"import atexit, os, pathlib, sys\natexit.register(lambda: ({WRITE}, os._exit(0)))\n",
    "changes the exit code": "import atexit, os\natexit.register(os._exit, 0)\n",
    "raises SystemExit": "raise SystemExit(0)\n",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_forgery_of_the_code_passes(judged: Judged, forgery: str) -> None:
    result = judged(CALC, {"calc.py": BROKEN + FORGERIES[forgery]})
    assert result.score is CheckScore.NEEDS_REVISION


IMITATION = """
import json, os
def say(**line):
    for name in os.listdir("/proc/self/fd"):
        try:
            os.write(int(name), json.dumps(line).encode() + b"\\n")
        except OSError:
            pass
say(tests=1)
say(passed="test_calc.py::test_add", able=True)
say(id="test_calc.py::test_add", when="call", outcome="passed", file="test_calc.py", control="failed", reason="")
say(exit_code=0)
os._exit(0)
"""


def test_a_run_written_down_in_advance_does_not_pass(judged: Judged) -> None:
    """Whoever knows what the runner tells still cannot know what it is asked back."""
    result = judged(CALC, {"calc.py": IMITATION})
    assert result.score is CheckScore.NEEDS_REVISION
    assert rules(result) in ({"no-controls"}, {"no-report"})  # what it writes may also reach the runner torn


@pytest.mark.parametrize(
    "change",
    [
        {"conftest.py": f"import os, pathlib, sys\n{WRITE}\nos._exit(0)\n"},
        {"pytest.py": "raise SystemExit(0)\n", "test_calc.py": "def test_add(): pass\n"},
        {"test_calc.py": "def test_add(): pass\n"},
        {"test_calc.py": None},
        {"pytest.ini": "[pytest]\npython_files = none.py\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--co'\n"},
        {"setup.cfg": "[tool:pytest]\naddopts = -p no:python\n"},
    ],
    ids=["conftest", "runner", "weakened", "deleted", "collection", "options", "plugins"],
)
def test_no_change_of_tests_or_settings_saves_broken_code(
    judged: Judged, change: dict[str, str | None]
) -> None:
    result = judged(CALC, {"calc.py": BROKEN, **change})
    assert result.score in {CheckScore.NEEDS_REVISION, CheckScore.PASS, None}
    if change.get("test_calc.py"):
        assert rules(result) == {"changed-test"}  # named for people; integrity names what was weakened
    else:
        assert result.score is not CheckScore.PASS


FLAKY = """\
import pathlib
def test_flaky():
    seen = pathlib.Path({counter!r})
    seen.open("a").write("x")
    assert len(seen.read_text()) > {failures}
def test_broken():
    assert 0
@__import__("pytest").mark.parametrize("x", ["a::b", "ü\\x1b", "[]"])
def test_odd(x):
    assert 0
def test_good():
    pathlib.Path({counter!r} + "-good").open("a").write("x")
"""


def test_failed_tests_are_run_again_alone_on_a_fresh_copy(checked: Checked, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    files = {"pkg/test_a.py": FLAKY.format(counter=str(counter), failures=1), "test_b.py": "import nothing\n"}
    [result] = checked(files, CheckStep(name="tests", reruns=2, timeout_s=60))
    run = read_run(result)
    assert run is not None
    assert run.flaky == {"pkg.test_a::test_flaky"}
    assert len(result.rerun_junit) == 2
    assert (
        len(re.findall("<testcase", result.rerun_junit[0])) == 6
    )  # five tests, and the file that cannot be read
    assert counter.read_text() == "xxx"
    assert Path(f"{counter}-good").read_text() == "x"


def test_a_test_that_fails_again_is_not_flaky(checked: Checked, tmp_path: Path) -> None:
    source = FLAKY.format(counter=str(tmp_path / "counter"), failures=2)
    [result] = checked({"test_a.py": source}, CheckStep(name="tests", reruns=2, timeout_s=60))
    run = read_run(result)
    assert run is not None
    assert run.flaky == frozenset()


def test_nothing_is_run_again_without_need(checked: Checked) -> None:
    many = f"import pytest\n@pytest.mark.parametrize('x', range({MOST_RERUN + 1}))\ndef test_a(x): assert 0\n"
    good, all_bad, unasked = checked(
        {
            "good/test_a.py": "def test_a(): pass\n",
            "bad/test_b.py": many,
            "one/test_c.py": "def test_c(): assert 0\n",
        },
        CheckStep(name="good", command=("pytest", "good"), reruns=2),
        CheckStep(name="bad", command=("pytest", "bad"), reruns=2),
        CheckStep(name="unasked", command=("pytest", "one")),
    )
    assert (good.rerun_junit, all_bad.rerun_junit, unasked.rerun_junit) == ((), (), ())


def test_a_file_that_cannot_be_read_does_not_hide_the_others(judged: Judged) -> None:
    files = {**CALC, "test_other.py": "import nothing\n"}
    assert judged(files, {"calc.py": CALC["calc.py"] + "# more\n"}).score is CheckScore.PASS
    result = judged(CALC, {"test_other.py": "import nothing\n"})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, {"test-failed"})


def test_unittest_repositories_are_judged_the_same_way(judged: Judged) -> None:
    source = "import calc, unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
    files = {"calc.py": CALC["calc.py"], "tests/testcalc.py": source, "tests/__init__.py": ""}
    assert judged(files, {"calc.py": CALC["calc.py"] + "# more\n"}).score is CheckScore.PASS
    result = judged(files, {"calc.py": BROKEN})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, {"test-broken"})


OWN_RUNNER = """\
import pathlib, sys
ok = "return 4" not in pathlib.Path("calc.py").read_text()
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path("out/j.xml").write_text(
    '<testsuite><testcase classname="x" name="y">' + ("" if ok else "<failure/>") + "</testcase></testsuite>"
)
sys.exit(not ok)
"""
OWN_CHECKS = b"tests: {command: [python, run.py], junit: out/j.xml}"


def test_another_runners_report_is_read_from_the_tree(judged: Judged) -> None:
    files = {"calc.py": CALC["calc.py"], "run.py": OWN_RUNNER, "out/j.xml": "<testsuite>stale"}
    good = judged(files, {"calc.py": CALC["calc.py"] + "# more\n"}, OWN_CHECKS)
    assert (good.score, good.summary[:9]) == (CheckScore.PASS, "1 passed,")
    assert judged(files, {"calc.py": BROKEN}, OWN_CHECKS).score is CheckScore.NEEDS_REVISION


def test_a_report_that_was_committed_is_not_a_report(checked: Checked) -> None:
    step = CheckStep(name="tests", command=("true",), junit="out/j.xml")
    [result] = checked({"x": ""}, step, change={"out/j.xml": FORGED})
    assert (result.exit_code, result.junit) == (0, None)


def test_a_report_is_read_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "tree/real").mkdir(parents=True)
    (tmp_path / "tree/real/j.xml").write_text("here")
    (tmp_path / "outside.xml").write_text("outside")
    (tmp_path / "tree/linked").symlink_to("real")
    (tmp_path / "tree/j.xml").symlink_to("../outside.xml")
    found = {
        name: packed_inside(tmp_path / "tree", name, 100)[0]
        for name in (
            "real/j.xml",
            "linked/j.xml",
            "j.xml",
            "../outside.xml",
            "real/../real/j.xml",
            "real",
            "a\0b",
        )
    }
    assert found.pop("real/j.xml") == "here"
    assert set(found.values()) == {None}


def test_standard_output_is_kept_apart_where_it_is_asked_for(checked: Checked) -> None:
    shown, missing, huge = checked(
        {"x": ""},
        CheckStep(
            name="shown", command=("sh", "-c", "echo out; echo error >&2; printf '\\033[1mz'"), capture=True
        ),
        CheckStep(name="missing", command=("no-such-linter", "x"), capture=True),
        CheckStep(name="huge", command=("sh", "-c", "yes | head -c 9000000"), capture=True),
    )
    assert (shown.captured, shown.output, shown.command[:2]) == ("out\nz", "error\n", ("sh", "-c"))
    assert (missing.outcome, missing.captured) == (StepOutcome.NO_TOOLCHAIN, None)
    assert "no-such-linter" in missing.output
    assert (huge.outcome, huge.exit_code, huge.captured) == (StepOutcome.RAN, 0, None)


def lint(
    checked: Checked, files: Files, change: Mapping[str, str], configuration: Mapping[str, str]
) -> CheckResult:
    changes, diff = together(*(edit(path, files.get(path), text) for path, text in change.items()))
    steps = plan_lint(changes, configuration, None, 60)
    report = CheckReport(steps=tuple(checked(files, *steps, change=change)))
    return judge_lint(report, EXITED, steps, changes=changes, diff=diff)


def test_ruff_finds_what_a_change_brings(checked: Checked) -> None:
    files = {"a.py": "import os\nx = 1\n"}
    own = {"ruff.toml": "lint.select = ['F']\n"}
    files |= own
    same = lint(checked, files, {"a.py": "\n\nimport os\nx = 2\n"}, own)
    assert (same.score, same.summary) == (CheckScore.PASS, "1 file linted with ruff, nothing new")
    worse = lint(checked, files, {"a.py": "import os\nimport sys\nx = 2\n", "-b ü.py": "x = (\n"}, own)
    assert worse.score is CheckScore.NEEDS_REVISION
    assert ("F401", "a.py", 2) in {(item.rule, item.file, item.line) for item in worse.findings}
    assert ("invalid-syntax", "-b ü.py") in {(item.rule, item.file) for item in worse.findings}


def test_base_decides_how_is_linted(checked: Checked) -> None:
    configuration = {"ruff.toml": 'lint.select = ["F401"]\nfix = true\n'}
    files = {"a.py": "x = 1\n", **configuration}
    loosened = {"a.py": "import os\nx = 1\n", "ruff.toml": "lint.select = []\n"}
    result = lint(checked, files, loosened, configuration)
    assert [(item.rule, item.file) for item in result.findings] == [("F401", "a.py")]


def test_a_broken_configuration_is_no_pass(checked: Checked) -> None:
    configuration = {"ruff.toml": "nonsense = [\n"}
    result = lint(checked, {"a.py": "x = 1\n", **configuration}, {"a.py": "x = 2\n"}, configuration)
    assert (result.score, "could not lint" in result.summary) == (None, True)


def test_trees_of_reruns_are_the_steps_own(checked: Checked) -> None:
    files = {"test_a.py": "def test_a():\n    assert 'base' == open('which').read()\n", "which": "base"}
    base, head = checked(
        files,
        CheckStep(name="base", tree=Tree.BASE, reruns=2),
        CheckStep(name="head", reruns=2),
        change={"which": "head"},
    )
    assert (base.exit_code, len(base.rerun_junit)) == (0, 0)
    assert (head.exit_code, len(head.rerun_junit)) == (1, 2)


SHOP = {
    "shop.py": "def net(price):\n    return price - 1\n\n\ndef gross(price):\n    return price\n",
    "test_shop.py": "import shop\n\n\ndef test_net():\n    assert shop.net(5) == 5\n\n\ndef test_gross():\n    assert shop.gross(5) == 6\n",
}


def test_a_red_test_that_runs_what_was_changed_is_seen_to(checked: Checked) -> None:
    """Also one whose code under test turns the looking off."""
    for half in ("return price - 2", "import sys\n    sys.settrace(None)\n    return price - 2"):
        change = {"shop.py": SHOP["shop.py"].replace("return price - 1", half)}
        changes, diff = together(edit("shop.py", SHOP["shop.py"], change["shop.py"]))
        lines = changed_lines(parse_diff(changes, diff) or ())
        steps = plan_tests(changes, None, 60, with_baseline=False, watched=lines)
        [head] = checked(SHOP, *steps, change=change)
        run = read_run(head)
        assert run is not None
        assert {name: case.touches for name, case in run.cases.items()} == {
            "test_shop::test_net": True,
            "test_shop::test_gross": False,
        }
