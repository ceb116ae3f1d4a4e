"""A check session: fresh trees, guarded runners, and results a judge can see through."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minion.checks.results import read
from minion.checks.toolchain import Plan, find_tests, plan
from minion.protocol import CheckStep, Event, Limits, SessionKind, StepOutcome, StepResult, Tree
from minion.workspace.trees import clear
from tests.minion.conftest import Program
from tests.minion.session_api import SessionApi, check_step

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

PASSING = "def test_it():\n    assert True\n"
FAILING = "def test_it():\n    assert False\n"
CALC = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
}
FIXED = {"calc.py": "def add(a, b):\n    return a + b\n"}


@pytest.fixture
def judge(make_door: MakeDoor, run: Run) -> Callable[..., list[StepResult]]:
    """Run the steps over base and change; `options` go to Python."""

    def judged(
        files: Mapping[str, str | bytes],
        *steps: CheckStep,
        change: Mapping[str, str | bytes | None] | None = None,
        options: tuple[str, ...] = (),
        **environment: str,
    ) -> list[StepResult]:
        session_api = make_door(files, change=change, kind=SessionKind.CHECK, steps=steps or (check_step(),))
        assert run(session_api, *options, **environment) == 0
        return list(session_api.check_report.steps)

    return judged


Judge = Callable[..., list[StepResult]]


def cases(result: StepResult) -> dict[str, bool]:
    """Test names in the JUnit of a step, and whether they passed."""
    assert result.junit is not None
    root = ET.fromstring(result.junit)
    return {str(case.get("name")): not list(case) for case in root.iter("testcase")}


def test_base_fails_and_the_change_passes(judge: Judge) -> None:
    base, head = judge(CALC, check_step("base", tree=Tree.BASE), check_step("head"), change=FIXED)
    assert (base.outcome, base.exit_code, cases(base)) == (StepOutcome.RAN, 1, {"test_add": False})
    assert (head.outcome, head.exit_code, cases(head)) == (StepOutcome.RAN, 0, {"test_add": True})
    assert head.command == ("python", "-P", "-m", "pytest")
    assert "1 passed" in head.output
    assert head.duration_s > 0


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_way_to_the_repository_that_is_cut_is_tried_again(make_door: MakeDoor, run: Run, cuts: int) -> None:
    session_api = make_door(CALC, change=FIXED, kind=SessionKind.CHECK, steps=(check_step(),))
    session_api.cuts_git = cuts
    assert run(session_api) == 0
    [result] = session_api.check_report.steps
    assert (result.outcome, cases(result)) == (StepOutcome.RAN, {"test_add": True})


def test_tests_a_change_weakened_are_restored_from_base(judge: Judge) -> None:
    weakened = {
        "test_calc.py": "def test_add():\n    assert True\n",
        "conftest.py": "import os; os._exit(0)\n",
    }
    step = check_step(restore=("test_calc.py", "conftest.py"))
    [result] = judge(CALC, step, change=weakened)
    assert (result.exit_code, cases(result)) == (1, {"test_add": False})


def test_a_restore_goes_through_no_link_and_takes_whole_directories(judge: Judge, tmp_path: Path) -> None:
    files = {"tests/test_a.py": PASSING, "tests/deep/test_b.py": PASSING}
    change: dict[str, str | None] = {
        "tests/deep/test_b.py": None,
        "tests/test_a.py": FAILING,
        "tests/test_c.py": FAILING,
    }
    [result] = judge(files, check_step(restore=("tests", "../outside", "/etc", ".git/config")), change=change)
    assert result.exit_code == 0
    assert cases(result) == {"test_it": True}
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep/file").touch()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/tests").symlink_to(tmp_path / "keep")
    clear(tmp_path / "tree", "tests/file")
    assert (tmp_path / "keep/file").exists()
    assert not (tmp_path / "tree/tests").is_symlink()


@pytest.mark.parametrize(
    "forgery",
    [
        {"pytest.py": "import sys; print('1 passed'); sys.exit(0)"},
        {"pytest/__init__.py": "", "pytest/__main__.py": "raise SystemExit(0)"},
        {"_pytest/__init__.py": "raise SystemExit(0)", "_pytest/config.py": ""},
        {"sitecustomize.py": "import os; os._exit(0)", "usercustomize.py": "import os; os._exit(0)"},
        {"pluggy.py": "raise SystemExit(0)", "xml/__init__.py": "raise SystemExit(0)", "json.py": "raise SystemExit(0)"},
        {"src/pytest.py": "raise SystemExit(0)", "src/sitecustomize.py": "raise SystemExit(0)"},
    ],
    ids=["module", "package", "private", "sitecustomize", "libraries", "src"],
)  # fmt: skip
def test_a_runner_in_the_tree_is_not_the_runner(judge: Judge, forgery: dict[str, str]) -> None:
    [result] = judge(CALC, change=forgery)
    assert (result.outcome, result.exit_code) == (StepOutcome.RAN, 1)
    assert cases(result) == {"test_add": False}


def test_an_exit_from_inside_leaves_no_results_to_believe(judge: Judge) -> None:
    [result] = judge(CALC, change={"conftest.py": "import os\nos._exit(0)\n"})
    assert (result.outcome, result.exit_code, result.junit) == (StepOutcome.RAN, 0, None)


def test_results_that_are_no_file_of_bearable_size_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1000)
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert read(tmp_path / "file", 1000) == b"x" * 1000
    assert read(tmp_path / "file", 999) is None
    assert (read(tmp_path / "link", 1000), read(tmp_path / "pipe", 1000)) == (None, None)


ESCAPE = """\
import os, subprocess, sys
def test_leaves_something_running():
    os.fork() or (os.setsid(), os.fork() and os._exit(0), [os.close(n) for n in (0, 1, 2)], {action})
"""


def test_what_left_its_process_group_is_dead_before_results_are_read(judge: Judge) -> None:
    forge = "print('never')"
    wait = "[__import__('time').sleep(60) or " + forge + "]"
    probe = (
        "import pathlib\ndef test_nobody_is_left():\n    words = []\n"
        "    for file in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
        "        try:\n            words.append(file.read_text())\n        except OSError:\n            pass\n"
        "    assert any(str(pathlib.Path.cwd().parent) in word for word in words)\n"
        "    assert not any(str(pathlib.Path.cwd().parent.parent / 'step-1') in word for word in words)\n"
    )
    first, second = judge(
        {"a/test_escape.py": ESCAPE.format(action=wait), "b/test_probe.py": probe},
        check_step("escape", command=("pytest", "-q", "a")),
        check_step("probe", command=("pytest", "-q", "a/../b")),
    )
    assert first.outcome is StepOutcome.RAN
    assert (second.exit_code, cases(second)) == (0, {"test_nobody_is_left": True})


def test_a_step_cannot_touch_what_the_next_one_is_made_from(judge: Judge) -> None:
    sabotage = (
        "import os, pathlib\ndef test_sabotage():\n    home = pathlib.Path.cwd().parent.parent\n"
        "    print(sorted(p.name for p in home.iterdir()))\n"
        "    for path in home.rglob('*'):\n"
        "        if path.is_file() and 'step-1' not in path.parts: path.write_text('spoiled')\n"
        "    for path in pathlib.Path('.git').rglob('*'):\n"
        "        if path.is_file(): path.chmod(0o600); path.write_text('spoiled')\n"
        "    site = pathlib.Path.home() / '.local/lib/python3.11/site-packages'\n"
        "    site.mkdir(parents=True); (site / 'usercustomize.py').write_text('raise SystemExit(0)')\n"
    )
    first, second = judge({**CALC, "test_sabotage.py": sabotage}, check_step("one"), check_step("two"))
    assert cases(first) == cases(second) == {"test_add": False, "test_sabotage": True}


def test_what_runs_has_nobody_to_talk_to(judge: Judge) -> None:
    probe = (
        "import os, pathlib\n"
        "def test_no_address():\n"
        "    assert not [name for name in os.environ if 'OVERLORD' in name or 'SCOPE' in name or 'OPENAI' in name]\n"
        "def test_no_listener():\n"
        "    judge = f'/proc/{os.getppid()}'\n"
        "    assert 'minion' in pathlib.Path(judge, 'cmdline').read_text()\n"
        "    try:\n"
        "        held = {os.readlink(entry.path) for entry in os.scandir(judge + '/fd')}\n"
        "    except PermissionError:\n"
        "        return  # hidden, as it should be from anyone but root\n"
        "    lines = [line.split() for line in pathlib.Path('/proc/net/tcp').read_text().splitlines()[1:]]\n"
        "    assert not held & {f'socket:[{line[9]}]' for line in lines if line[3] == '0A'}\n"
    )
    [result] = judge({"test_probe.py": probe})
    assert cases(result) == {"test_no_address": True, "test_no_listener": True}


def test_a_hidden_process_is_closed_to_others_of_its_user() -> None:
    code = "import ctypes; from minion import descendants as d; d.hide(); print(ctypes.CDLL(None).prctl(3))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_the_report_is_begun_before_a_command_runs_and_finished_after(
    make_door: MakeDoor, start: Any
) -> None:
    session_api = make_door({"test_it.py": PASSING}, kind=SessionKind.CHECK, steps=(check_step(),))
    program: Program = start(session_api)
    session_api.wait_for(lambda: "/session/report" in session_api.paths)
    assert not session_api.reports
    session_api.socket.unlink()  # the session API stops listening: one connection is all the checker needs
    assert program.wait() == 0
    assert session_api.check_report.steps[0].exit_code == 0


def test_a_report_that_cannot_be_delivered_is_never_a_pass(make_door: MakeDoor, start: Any) -> None:
    slow = "import pathlib, time\ndef test_it():\n    while not pathlib.Path('{}').exists():\n        time.sleep(0.01)\n"
    session_api = make_door({"x": ""}, kind=SessionKind.CHECK, steps=())
    go_on = session_api.root / "go-on"
    command = ("python", "-c", slow.format(go_on).replace("def test_it():\n", "if True:\n"))
    session_api.brief = replace(session_api.brief, steps=(check_step(command=command),))
    program: Program = start(session_api)
    session_api.wait_for(lambda: "/session/report" in session_api.paths)
    session_api.vanish()
    go_on.touch()
    assert program.wait() == 5
    assert not session_api.reports


def test_term_ends_a_check_and_what_it_runs(make_door: MakeDoor, start: Any) -> None:
    session_api = make_door({"x": ""}, kind=SessionKind.CHECK, steps=())
    begun = session_api.root / "begun"
    os.mkfifo(begun)
    step = check_step(command=("sh", "-c", f"echo > {begun}; sleep 600"))
    session_api.brief = replace(session_api.brief, steps=(step,))
    program: Program = start(session_api)
    session_api.wait_for(lambda: "/session/report" in session_api.paths)
    begun.read_text()
    program.terminate()
    assert program.wait() == 3
    assert not session_api.reports


def test_a_step_out_of_time_is_stopped_and_keeps_its_output(judge: Judge) -> None:
    [result] = judge({"x": ""}, check_step(command=("sh", "-c", "echo begun; sleep 600"), timeout_s=3))
    assert (result.outcome, result.exit_code, result.output) == (StepOutcome.TIMED_OUT, None, "begun\n")


def test_a_repository_without_tests_has_nothing_to_run(judge: Judge) -> None:
    [result] = judge({"calc.py": "x = 1\n"})
    assert (result.outcome, result.exit_code) == (StepOutcome.NOTHING_TO_RUN, None)


def test_unittest_files_with_names_of_their_own_are_run(judge: Judge) -> None:
    source = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"
    [result] = judge({"tests.py": source, "lib/testing.py": "x = 1\n"})
    assert (result.exit_code, cases(result)) == (0, {"test_it": True})
    assert result.command == ("python", "-P", "-m", "pytest", "tests.py")


def test_a_src_layout_and_options_of_the_repository_are_honoured(judge: Judge) -> None:
    files = {
        "src/pkg/__init__.py": "ONE = 1\n",
        "tests/test_a.py": "import pkg\ndef test_a(): assert pkg.ONE == 1\ndef test_b(): assert 0\ndef test_c(): pass\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-x --ff'\ntestpaths = ['tests']\n",
    }
    [result] = judge(files)
    assert cases(result) == {"test_a": True, "test_b": False, "test_c": True}


def test_a_python_without_pytest_is_no_toolchain(judge: Judge) -> None:
    [result] = judge(CALC, options=("-S",))
    assert result.outcome is StepOutcome.NO_TOOLCHAIN


def test_commands_of_any_kind_are_run_as_they_are(judge: Judge) -> None:
    results = judge(
        {"x.txt": "content\n", "run.sh": "exit 4"},
        check_step("shown", command=("cat", "x.txt")),
        check_step("failing", command=("sh", "run.sh")),
        check_step("missing", command=("no-such-linter", ".")),
        check_step("forbidden", command=("./x.txt",)),
    )
    told = [(result.name, result.outcome, result.exit_code) for result in results]
    assert told == [
        ("shown", StepOutcome.RAN, 0),
        ("failing", StepOutcome.RAN, 4),
        ("missing", StepOutcome.NO_TOOLCHAIN, None),
        ("forbidden", StepOutcome.BROKEN, None),
    ]
    assert results[0].output == "content\n"
    assert results[0].junit is None


def test_output_of_a_step_is_bounded(judge: Judge) -> None:
    [result] = judge(
        {"x": ""}, check_step(command=("sh", "-c", "echo a; yes | head -c 9000000; printf '\\377\\033[1mz'"))
    )
    assert len(result.output) < 41_000
    assert result.output.startswith("a\ny\n")
    assert result.output.endswith("�z")


def test_a_commit_that_cannot_be_laid_out_is_broken(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        CALC, kind=SessionKind.CHECK, steps=(check_step(), check_step("base", tree=Tree.BASE))
    )
    session_api.brief = replace(session_api.brief, head_sha="1" * 40)
    assert run(session_api) == 0
    head, base = session_api.check_report.steps
    assert (head.outcome, base.outcome) == (StepOutcome.BROKEN, StepOutcome.RAN)
    assert "git checkout" in head.output


def test_a_repository_that_cannot_be_fetched_breaks_every_step(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(CALC, kind=SessionKind.CHECK, steps=(check_step(), check_step("two")))
    session_api.repository.rename(session_api.root / "gone.git")
    assert run(session_api) == 0
    assert [step.outcome for step in session_api.check_report.steps] == [StepOutcome.BROKEN] * 2


def test_a_check_needs_no_scope_and_sends_nothing_but_its_report(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        {"test_it.py": PASSING}, kind=SessionKind.CHECK, steps=(check_step(),), limits=Limits(time_s=1)
    )
    assert run(session_api) == 0
    events: list[Event] = session_api.events
    assert not events
    assert not session_api.requests


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"test_a.py": ""}, ()),
        ({"pkg/a_test.py": ""}, ()),
        ({"pytest.ini": "", "checks.py": ""}, ()),
        ({"setup.cfg": "[tool:pytest]\n"}, ()),
        ({"setup.cfg": "[metadata]\n"}, StepOutcome.NOTHING_TO_RUN),
        ({".venv/lib/test_a.py": "", "node_modules/test_b.py": ""}, StepOutcome.NOTHING_TO_RUN),
        ({"tests/testcalc.py": "class T(TestCase): ..."}, ("tests/testcalc.py",)),
    ],
)
def test_tests_are_found_by_name_or_configuration(
    tmp_path: Path, files: dict[str, str], found: tuple[str, ...] | StepOutcome
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_tests(tmp_path) == found


def test_pytest_by_any_spelling_is_the_guarded_one(tmp_path: Path) -> None:
    for words in (
        ("pytest", "a.py"),
        ("python", "-m", "pytest", "a.py"),
        ("python3", "-m", "pytest", "a.py"),
    ):
        made = plan(check_step(command=words), tmp_path, tmp_path)
        assert isinstance(made, Plan)
        assert made.arguments[:2] == (sys.executable, "-P")
        assert made.shown == ("python", "-P", "-m", "pytest", "a.py")
