"""A work session from brief to report, the program run for real: every way it can end."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minion.interrupt import Interrupts
from minion.protocol import EventKind, Limits, Outcome
from minion.session_api import SessionApi as WireDoor
from minion.start import Start
from tests.minion.conftest import Program
from tests.minion.session_api import BRANCH, Held, SessionApi, call, done, git, status

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Begin = Callable[..., Program]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "Calc\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")


def test_an_edit_is_pushed_and_reported(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(
        call("read_file", path="calc.py"),
        EDIT,
        call("run_command", command="python -c 'import calc; print(calc.add(1, 2))'"),
        call("task_complete", summary="Add adds.", learnings=["no tests"], follow_ups=["write tests"]),
    )
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.summary == "Add adds."
    assert (session_api.report.learnings, session_api.report.follow_ups) == (("no tests",), ("write tests",))
    assert session_api.report.turns == 4
    assert session_api.report.head == git(session_api.repository, "rev-parse", BRANCH)
    assert session_api.files()["calc.py"] == "def add(a, b):\n    return a + b"
    assert session_api.tool_results(1) == ["     1\tdef add(a, b):\n     2\t    return a - b"]
    assert session_api.tool_results(3) == ["3\n[exit code 0]"]


@pytest.mark.parametrize(
    "after", ["", "echo more > more.txt", "git reset -q --hard HEAD~1; echo more > more.txt"]
)
def test_a_minion_that_pushes_by_itself_can_finish(make_door: MakeDoor, run: Run, after: str) -> None:
    """Whatever it pushed before, what is handed in is what the working tree holds."""
    session_api = make_door(FILES)
    git(session_api.repository, "config", "receive.denyNonFastForwards", "true")
    git(session_api.repository, "branch", BRANCH, "main")
    push = f"git commit -qam mine && git push -q origin HEAD:refs/heads/{BRANCH}"
    session_api.will(EDIT, call("run_command", command=f"{push}; {after}"), done(), done())
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    expected = {"README.md": "Calc", "calc.py": "def add(a, b):\n    return a + b"}
    if after:
        expected["more.txt"] = "more"
    if "reset" in after:
        expected["calc.py"] = "def add(a, b):\n    return a - b"
    assert session_api.files() == expected
    assert session_api.report.head == git(session_api.repository, "rev-parse", BRANCH)
    assert "mine" in git(session_api.repository, "log", "--format=%s", BRANCH)


def test_progress_is_told_beside_the_work(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, done())
    run(session_api)
    told = [(event.kind, event.turn, event.text) for event in session_api.events]
    assert told == [
        (EventKind.PROGRESS, 1, "edit_file calc.py"),
        (EventKind.PROGRESS, 2, "task_complete done"),
    ]


def test_blocked_keeps_the_work_so_far(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, call("task_blocked", reason="The specification contradicts itself."))
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.BLOCKED
    assert session_api.report.summary == "The specification contradicts itself."
    assert "a + b" in session_api.files()["calc.py"]


def test_the_turn_limit_ends_the_session_with_its_work_pushed(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, limits=Limits(turns=6))
    session_api.will(EDIT, call("list_directory"))
    assert run(session_api) == 3
    assert (session_api.report.outcome, session_api.report.reason, session_api.report.turns) == (
        Outcome.ERROR,
        "turn_limit",
        6,
    )
    assert "a + b" in session_api.files()["calc.py"]
    assert "5 turns left" in session_api.tool_results(1)[-1]


def test_the_time_limit_interrupts_even_a_model_that_never_answers(make_door: MakeDoor, run: Run) -> None:
    held = Held()
    session_api = make_door(FILES, limits=Limits(time_s=2))
    session_api.will(EDIT, held)
    assert run(session_api) == 3
    held.released.set()
    assert session_api.report.reason == "time_limit"
    assert "a + b" in session_api.files()["calc.py"]


def test_the_time_limit_kills_a_command(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, limits=Limits(time_s=2))
    session_api.will(call("run_command", command="echo half > new.txt; sleep 600"))
    assert run(session_api) == 3
    assert session_api.report.reason == "time_limit"
    assert session_api.files()["new.txt"] == "half"


def test_term_pushes_and_reports(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    session_api = make_door(FILES)
    session_api.will(EDIT, held)
    program = start(session_api)
    assert held.reached.wait(30)
    program.terminate()
    assert program.wait() == 3
    held.released.set()
    assert (session_api.report.outcome, session_api.report.reason) == (Outcome.ERROR, "terminated")
    assert "a + b" in session_api.files()["calc.py"]


def test_a_spent_budget_pushes_and_reports(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, status(402, "budget_exhausted"))
    assert run(session_api) == 4
    assert session_api.report.outcome is Outcome.OUT_OF_BUDGET
    assert "a + b" in session_api.files()["calc.py"]


def test_work_in_progress_is_pushed_every_ten_turns(make_door: MakeDoor, start: Begin) -> None:
    held = Held(done())
    session_api = make_door(FILES)
    session_api.will(EDIT, *[call("list_directory")] * 10, held)
    program = start(session_api)
    assert held.reached.wait(30)
    session_api.wait_for(
        lambda: any(path.endswith("git-receive-pack") and "?" not in path for path in session_api.paths)
    )
    held.released.set()
    assert program.wait() == 0
    assert git(session_api.repository, "log", "--format=%s", f"main..{BRANCH}") == "Work in progress, turn 10"


def test_a_door_that_vanishes_for_a_while_is_waited_out(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    session_api = make_door(FILES)
    session_api.will(EDIT, held, done())
    program = start(session_api)
    assert held.reached.wait(30)
    session_api.vanish()
    held.released.set()
    session_api.script[1] = call("list_directory")
    session_api.open()
    assert program.wait() == 0
    assert session_api.report.turns == 3


def test_a_door_that_stays_away_ends_the_session(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    session_api = make_door(FILES)
    session_api.will(held)
    program = start(session_api, MINION_PATIENCE_S="0")
    assert held.reached.wait(30)
    session_api.vanish()
    held.released.set()
    assert program.wait() == 5


def test_work_that_cannot_be_pushed_whole_is_pushed_in_part(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(
        EDIT, call("run_command", command="git init -q broken"), call("task_blocked", reason="stuck")
    )
    assert run(session_api) == 0
    assert "a + b" in session_api.files()["calc.py"]
    assert any("could not be pushed whole" in event.text for event in session_api.events)


def test_a_report_that_is_not_taken_ends_the_session_all_the_same(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.refuses_reports = True
    session_api.will(EDIT, done())
    assert run(session_api) == 0
    assert not session_api.reports


def test_term_before_the_brief_is_reported(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    session_api = make_door(FILES)
    session_api.held_brief = held
    program = start(session_api)
    assert held.reached.wait(30)
    program.terminate()
    assert program.wait() == 3
    held.released.set()
    assert session_api.report.reason == "terminated"


def test_a_scope_that_does_not_parse_stops_the_session(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    assert run(session_api, MINION_SCOPE="src/**") == 2
    assert (session_api.report.outcome, session_api.report.reason) == (Outcome.ERROR, "scope")
    assert "MINION_SCOPE is not JSON" in session_api.report.summary
    assert not session_api.requests


def test_a_missing_scope_stops_the_session(make_door: MakeDoor, start: Begin, run: Run) -> None:
    session_api = make_door(FILES)
    assert run(session_api, MINION_SCOPE="[]") == 2
    assert "nothing could be written" in session_api.report.summary


@pytest.mark.parametrize(
    "wrong",
    [{"OVERLORD_URL": "http://127.0.0.1:1"}, {"MINION_PATIENCE_S": "long"}, {"MINION_WORK": "/proc/nowhere"}],
)
def test_an_environment_without_a_door_is_refused(
    make_door: MakeDoor, run: Run, wrong: dict[str, str]
) -> None:
    assert run(make_door(FILES), **wrong) == 6


def test_a_temporary_home_goes_with_the_session(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    session_api = WireDoor(tmp_path / "s")
    Start(
        environment={}, session_api=session_api, interrupts=Interrupts(), home=home, temporary=False
    ).leave()
    assert home.exists()
    Start(environment={}, session_api=session_api, interrupts=Interrupts(), home=home, temporary=True).leave()
    assert not home.exists()


def test_a_repository_that_cannot_be_cloned_is_reported(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.brief = replace(session_api.brief, head_sha="1" * 40)
    session_api.will(EDIT)
    assert run(session_api) == 3
    assert session_api.report.reason == "internal"
    assert "git checkout" in session_api.report.summary


def test_a_commit_a_command_made_or_unmade_does_not_disturb_the_push(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    rewrite = "git checkout -q -b other && git commit -qam mine && git commit -q --amend -m again && git reset -q --hard HEAD~1"
    session_api.will(EDIT, *[call("list_directory")] * 10, call("run_command", command=rewrite), EDIT, done())
    assert run(session_api) == 0
    assert "a + b" in session_api.files()["calc.py"]
