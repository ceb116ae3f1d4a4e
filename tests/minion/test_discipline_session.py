"""A session of a discipline: its tools, the result that ends it, and what of its work is kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minion.discipline import GIVE_RESULT
from minion.errors import ToolError
from minion.native.model import ToolCall
from minion.protocol import Limits, Message, Outcome, Scope, ScopeMode
from minion.session import Session
from minion.tools.discipline import MOST_MESSAGE_CHARS, MOST_OUTPUT_CHARS, MOST_PATH_CHARS, result_in
from minion.tools.registry import perform, schemas_of, tools_of
from minion.tools.tool import Submission
from overlord.domain.disciplines.catalog import KINDS, DisciplineName
from tests.minion.conftest import make_session
from tests.minion.disciplines import discipline
from tests.minion.session_api import BRANCH, SessionApi, call, git, make_brief, message

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")
ONE_FILE = Scope(mode=ScopeMode.EXPLICIT, patterns=("calc.py",))


def passed(**more: Any) -> bytes:
    return call(GIVE_RESULT, **{"status": "pass", "message": "It is done.", **more})


def did(session: Session, name: str, **arguments: Any) -> str | Submission:
    return perform(session, ToolCall(id="1", name=name, arguments=arguments))


def refused(session: Session, name: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as error:
        did(session, name, **arguments)
    return str(error.value)


def given(session: Session, **more: Any) -> dict[str, Any]:
    submission = did(session, GIVE_RESULT, **{"status": "pass", "message": "m", **more})
    assert isinstance(submission, Submission)
    assert submission.outcome is Outcome.COMPLETE
    answer: dict[str, Any] = json.loads(submission.answer)
    return answer


@pytest.mark.parametrize("name", list(DisciplineName))
def test_a_discipline_has_its_own_tools_and_the_one_that_gives_its_result(name: DisciplineName) -> None:
    brief = make_brief(discipline=discipline(name))
    assert set(tools_of(brief)) == {*KINDS[name].tools, GIVE_RESULT}


def test_what_no_discipline_has_is_not_there(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("debug"))
    for name in ("write_file", "ask_question", "task_complete", "task_blocked", "explore", "use_skill"):
        assert f"There is no tool {name}. Known: read_file," in refused(session, name)


def test_a_tool_that_nobody_knows_gives_a_discipline_nothing() -> None:
    brief = make_brief(discipline=discipline(tools=("read_file", "give_me_root")))
    assert set(tools_of(brief)) == {"read_file", GIVE_RESULT}


def test_a_result_is_the_sessions_answer(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    session_api.will(
        call("read_file", path="calc.py"),
        passed(status="fail", file_path="calc.py", runner_output="CRITICAL: calc.py:2: it subtracts"),
    )
    assert run(session_api) == 0
    report = session_api.report
    assert (report.outcome, report.turns, report.head) == (Outcome.COMPLETE, 2, None)
    assert json.loads(report.answer) == {
        "status": "fail",
        "phase": "review",
        "skill": "review",
        "file_path": "calc.py",
        "runner_output": "CRITICAL: calc.py:2: it subtracts",
        "verified": False,
        "message": "It is done.",
    }
    assert report.summary == "fail: It is done."
    told = [tool["function"]["name"] for tool in session_api.requests[0]["tools"]]
    assert told == [tool["function"]["name"] for tool in schemas_of(session_api.brief)]


@pytest.mark.parametrize("status", ["pass", "fail", "error"])
def test_each_status_ends_the_session_as_complete(tmp_path: Path, status: str) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("debug"))
    assert given(session, status=status)["status"] == status


def test_a_worker_does_not_say_what_is_verified(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("review"))
    assert given(session, verified=True, phase="review", skill="review")["verified"] is False


def test_another_phase_is_refused_with_the_right_one(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("tdd_red"))
    said = refused(session, GIVE_RESULT, status="pass", message="m", phase="green")
    assert said == "phase is 'red' in this session, not 'green'. Leave it out."
    assert "skill is 'tdd'" in refused(session, GIVE_RESULT, status="pass", message="m", skill="review")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"status": "done"}, "status must be one of pass, fail, error, not 'done'."),
        ({"message": None}, "give_result needs message."),
        ({"message": " \n"}, "message is empty; say in one line what came of it."),
        (
            {"message": "x" * (MOST_MESSAGE_CHARS + 1)},
            "message has 2,001 characters; at most 2,000 are taken.",
        ),
        (
            {"runner_output": "x" * (MOST_OUTPUT_CHARS + 1)},
            "runner_output has 100,001 characters; at most 100,000 are taken.",
        ),
        (
            {"file_path": "x" * (MOST_PATH_CHARS + 1)},
            "file_path has 1,001 characters; at most 1,000 are taken.",
        ),
        ({"file_path": "../calc.py"}, "file_path must be relative to project_root"),
        ({"file_path": "/etc/passwd"}, "file_path must be relative to project_root"),
        ({"file_path": "a\nb"}, "file_path must be relative to project_root"),
        ({"runner_output": 7}, "runner_output must be a string, not a number."),
        ({"message": "\ud800"}, "message holds a lone surrogate"),
        ({"reviewed": True}, "give_result has no argument reviewed"),
    ],
)
def test_a_result_that_cannot_be_used_is_refused(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("review"))
    assert said in refused(session, GIVE_RESULT, **{"status": "pass", "message": "m", **more})


def test_what_is_meant_is_taken(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("review"))
    answer = given(
        session,
        message="two\nlines",
        file_path=f"{session.territory.root}/./calc.py",
        runner_output=[{"type": "sft", "score": 4}],
    )
    assert answer["message"] == "two lines"
    assert answer["file_path"] == "calc.py"
    assert json.loads(answer["runner_output"]) == [{"type": "sft", "score": 4}]


def test_a_reader_pushes_nothing_whatever_its_commands_change(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("debug"))
    session_api.will(call("run_command", command="echo broken > calc.py; cat calc.py"), passed())
    assert run(session_api) == 0
    assert session_api.tool_results(1) == ["broken\n[exit code 0]"]
    assert session_api.report.head is None
    assert git(session_api.repository, "branch", "--list", BRANCH) == ""


@pytest.mark.parametrize("ending", ["turns", "fruitless"])
def test_a_reader_that_comes_to_no_end_pushes_nothing(make_door: MakeDoor, run: Run, ending: str) -> None:
    limits = Limits(turns=1 if ending == "turns" else 9)
    session_api = make_door(FILES, discipline=discipline("review"), limits=limits)
    session_api.will(call("run_command", command="echo broken > calc.py"), *[message("Well.")] * 3)
    assert run(session_api) == 3
    assert session_api.report.reason == ("turn_limit" if ending == "turns" else "no_work")
    assert session_api.report.head is None
    assert git(session_api.repository, "branch", "--list", BRANCH) == ""


def test_what_a_writer_wrote_is_handed_in(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("tdd_green"))
    session_api.will(EDIT, passed(file_path="calc.py"))
    assert run(session_api) == 0
    assert session_api.report.head == git(session_api.repository, "rev-parse", BRANCH)
    assert "a + b" in session_api.files()["calc.py"]


def test_a_pass_without_a_change_is_doubted_once(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("tdd_red"))
    session_api.will(passed(), passed())
    assert run(session_api) == 0
    assert "No file of the repository has changed" in session_api.tool_results(1)[0]
    assert session_api.report.turns == 2
    assert session_api.report.head is None


@pytest.mark.parametrize(
    ("name", "status"), [("tdd_red", "error"), ("tdd_refactor", "pass"), ("tdd_green", "fail")]
)
def test_nothing_to_change_is_a_result(tmp_path: Path, name: str, status: str) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline(name))
    assert given(session, status=status)["status"] == status


def test_a_writer_writes_its_one_path_alone_and_has_nobody_to_ask(tmp_path: Path) -> None:
    session = make_session(
        tmp_path,
        FILES,
        discipline=discipline("spec"),
        scope=Scope(mode=ScopeMode.EXPLICIT, patterns=("docs/spec.md",)),
    )
    said = refused(session, "write_file", path="calc.py", content="")
    assert said.startswith("calc.py is outside this session's scope (docs/spec.md), so it was not written.")
    assert "say so in your result" in said
    assert "ask_question" not in said
    assert (
        did(session, "write_file", path="docs/spec.md", content="# A\n") == "Created docs/spec.md (1 lines)."
    )


def test_a_change_outside_the_scope_is_doubted_once(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("tdd_red"), scope=ONE_FILE)
    did(session, "run_command", command="echo 1 > other.py")
    said = refused(session, GIVE_RESULT, status="pass", message="m")
    assert "outside your scope and the work will be sent back for them: other.py" in said
    assert "call give_result again" in said


RESULT_TEXT = json.dumps({"status": "pass", "phase": "review", "message": "clean", "verified": True, "x": 1})


@pytest.mark.parametrize(
    "text",
    [
        RESULT_TEXT,
        f"```json\n{RESULT_TEXT}\n```",
        f"Here is my review.\n\n```\n{RESULT_TEXT}\n```\n",
        f"{{ is a brace.\nHere is my review.\n{json.dumps(json.loads(RESULT_TEXT), indent=1)}\n",
    ],
)
def test_a_result_in_words_is_taken(make_door: MakeDoor, run: Run, text: str) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    session_api.will(message(text))
    assert run(session_api) == 0
    answer = json.loads(session_api.report.answer)
    assert (answer["status"], answer["message"], answer["verified"]) == ("pass", "clean", False)
    assert session_api.report.turns == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is clean.",
        "[1, 2]",
        '{"status": "pass"}',
        f"{RESULT_TEXT} and more",
        "[" * 100_000,
        "```json\n{broken\n```",
    ],
)
def test_other_words_are_no_result(text: str) -> None:
    assert result_in(text) is None


def test_a_result_in_words_that_cannot_be_used_is_told_why(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    session_api.will(message('{"status": "pass", "phase": "green", "message": "m"}'), passed())
    assert run(session_api) == 0
    said = session_api.requests[1]["messages"][-1]
    assert said["content"] == (
        "Your result was not taken: phase is 'review' in this session, not 'green'. Leave it out."
    )


def test_a_worker_without_a_result_is_told_of_it_and_then_given_up(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    session_api.will(message("It looks fine."), message(""), message("Still fine."))
    assert run(session_api) == 3
    told = [request["messages"][-1]["content"] for request in session_api.requests[1:]]
    assert told == [
        "You called no tool. Go on with the work, or end it with give_result.",
        "Your reply was empty. Go on with a tool call, or end with give_result.",
    ]
    report = session_api.report
    assert (report.outcome, report.reason) == (Outcome.ERROR, "no_work")
    assert report.summary == "The worker returned no result. It said last: Still fine."


def test_a_result_after_a_call_that_failed_is_not_taken(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    ending = (GIVE_RESULT, {"status": "pass", "message": "m"})
    session_api.will(message(None, ("read_file", {"path": "none.py"}), ending), passed())
    assert run(session_api) == 0
    assert (
        "give_result was not taken: another call of the same reply failed." in session_api.tool_results(1)[1]
    )


@pytest.mark.parametrize("ending", [passed(), message(RESULT_TEXT)])
def test_what_a_person_wrote_meanwhile_is_read_before_the_end(
    make_door: MakeDoor, run: Run, ending: bytes
) -> None:
    session_api = make_door(FILES, discipline=discipline("review"))
    session_api.messages.append((1, Message(id=1, text="Look at calc.py, too.", by="alice", at="now")))
    session_api.will(ending, ending)
    assert run(session_api) == 0
    assert session_api.report.turns == 2
    assert "Look at calc.py, too." in json.dumps(session_api.requests[1]["messages"])
