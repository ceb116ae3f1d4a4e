"""What a session does with its contract's terms: its tools, how it ends, and a consultation."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from minion.errors import ToolError
from minion.native.model import ToolCall
from minion.protocol import (
    Assignment,
    Consultation,
    ConsultationKind,
    Limits,
    Outcome,
    Scope,
    SkillText,
    Terms,
)
from minion.tools.answer import MAX_TEXT_CHARS
from minion.tools.registry import perform, schemas_of, tools_of
from tests.minion.conftest import make_session
from tests.minion.session_api import BRANCH, SessionApi, call, done, git, make_brief, message

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")
SKILL = SkillText(name="a", description="d", instructions="i")
ENDINGS = {"task_complete", "task_blocked", "ask_question"}


def terms(**more: Any) -> Terms:
    return Terms(contract="crew", phase="build", **more)


def consultation(kind: ConsultationKind = ConsultationKind.RESOLUTION) -> Consultation:
    return Consultation(
        kind=kind, question="How is it to go on?", facts="It failed.", choices=("guidance", "give_up")
    )


def refused(session: Any, name: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as error:
        perform(session, ToolCall(id="1", name=name, arguments=arguments))
    return str(error.value)


@pytest.mark.parametrize(
    ("skills", "digest"),
    [
        ((), "ee183811779e2cedcc9fdf85b0af6d6bc8f9caf70b4e705504b8c32c13f48a8c"),
        ((SKILL,), "b275620ddcb6647bcae393234801e14caec7352a784444a19ca01f68780c1216"),
    ],
)
def test_without_terms_the_tools_are_the_same_byte_for_byte(
    skills: tuple[SkillText, ...], digest: str
) -> None:
    """A model's cache, and every recorded conversation, holds on to them."""
    assert sha256(json.dumps(schemas_of(make_brief(skills=skills))).encode()).hexdigest() == digest
    assert schemas_of(make_brief(terms=terms(), skills=skills)) == schemas_of(make_brief(skills=skills))


def test_only_the_listed_tools_are_there_and_those_that_end_the_session() -> None:
    brief = make_brief(terms=terms(tools=("read_file", "no_such_tool")))
    assert set(tools_of(brief)) == {"read_file"} | ENDINGS
    skilled = make_brief(terms=terms(tools=("read_file",)), skills=(SKILL,))
    assert set(tools_of(skilled)) == {"read_file", "use_skill"} | ENDINGS


def test_a_tool_that_was_taken_away_is_refused_with_those_there_are(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms(tools=("read_file",)))
    said = refused(session, "write_file", path="a", content="b")
    assert "There is no tool write_file" in said
    assert "read_file" in said


def test_a_line_that_starts_what_is_not_listed_is_not_run(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=terms(commands=("python",)))
    session_api.will(
        call("run_command", command="echo a > made; git status"),
        call("run_command", command="python -c 'print(6 * 7)' && echo good"),
        call("run_command", command="$SHELL -c true"),
        EDIT,
        done(),
    )
    assert run(session_api) == 0
    [first] = session_api.tool_results(1)
    assert (
        "Nothing was run: 'git' may not be started. run_command may start in this session: python." in first
    )
    assert "made" not in session_api.files()
    assert session_api.tool_results(2) == ["42\ngood\n[exit code 0]"]
    assert "a program is not written as a plain name" in session_api.tool_results(3)[0]
    [tool] = [t for t in session_api.requests[0]["tools"] if t["function"]["name"] == "run_command"]
    assert "may start in this session: python. Always allowed: cd" in tool["function"]["description"]


def test_a_list_without_programs_leaves_what_starts_nothing(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms(commands=()))
    assert "may start in this session: nothing else" in refused(session, "run_command", command="git log")
    said = perform(
        session, ToolCall(id="1", name="run_command", arguments={"command": "cat calc.py | wc -l"})
    )
    assert str(said).startswith("2")


def test_a_list_needs_bash_to_be_read_for(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms(commands=("pytest",)))
    session.command_environment = {**session.command_environment, "PATH": str(tmp_path)}
    assert "can only be told for bash" in refused(session, "run_command", command="pytest")


def test_an_outcome_of_the_phase_comes_with_the_report(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=terms(outcomes=("done", "rejected")))
    session_api.will(
        call("task_complete", summary="No.", outcome="refused"),
        call("task_complete", summary="The plan is wrong.", outcome="rejected"),
    )
    assert run(session_api) == 0
    assert "outcome must be one of done, rejected, not 'refused'" in session_api.tool_results(1)[0]
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.result == "rejected"
    [tool] = [t for t in session_api.requests[0]["tools"] if t["function"]["name"] == "task_complete"]
    assert tool["function"]["parameters"]["properties"]["outcome"]["enum"] == ["done", "rejected"]
    assert "outcome" not in tool["function"]["parameters"]["required"]


def test_an_outcome_must_be_said_where_done_is_none(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms(outcomes=("approved", "rejected")))
    assert "task_complete needs outcome" in refused(session, "task_complete", summary="s")


def test_an_outcome_is_not_asked_for_where_there_is_one_only(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, terms=terms())
    assert "has no argument outcome" in refused(session, "task_complete", summary="s", outcome="done")


def test_an_event_comes_with_the_report_of_what_is_blocked(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=terms(events=("needs_design",)))
    session_api.will(
        call("task_blocked", reason="r", event="needs_coffee"),
        call("task_blocked", reason="Nobody drew it.", event="needs_design"),
    )
    assert run(session_api) == 0
    assert "event must be one of needs_escalation, needs_design" in session_api.tool_results(1)[0]
    assert (session_api.report.outcome, session_api.report.event) == (Outcome.BLOCKED, "needs_design")


@pytest.mark.parametrize(("given", "event"), [(terms(), "needs_escalation"), (None, "")])
def test_what_is_blocked_needs_escalation_by_itself(
    make_door: MakeDoor, run: Run, given: Terms | None, event: str
) -> None:
    session_api = make_door(FILES, terms=given)
    session_api.will(call("task_blocked", reason="r"))
    assert run(session_api) == 0
    assert (session_api.report.event, session_api.report.result) == (event, "done")


@pytest.mark.parametrize(
    ("criteria", "asked"),
    [
        ((), False),
        (("command_succeeds: true",), False),
        (("diff_non_empty",), True),
        (("evaluation_passed",), True),
    ],
)
def test_a_change_is_insisted_on_where_a_criterion_needs_one(
    tmp_path: Path, criteria: tuple[str, ...], asked: bool
) -> None:
    session = make_session(tmp_path, FILES, terms=terms(criteria=criteria))
    if asked:
        assert "No file of the repository has changed" in refused(session, "task_complete", summary="s")
    perform(session, ToolCall(id="1", name="task_complete", arguments={"summary": "s"}))


def test_a_consultation_reads_answers_and_pushes_nothing(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        FILES,
        terms=terms(
            consultation=consultation(), commands=("git",), assignments=(Assignment(name="api", text="t"),)
        ),
    )
    session_api.will(
        call("read_file", path="calc.py"),
        call("write_file", path="calc.py", content="x"),
        call("run_command", command="echo x > calc.py; git log"),
        *[call("list_directory")] * 10,
        call(
            "give_answer",
            choice="guidance",
            text="Add, do not subtract. ü",
            patterns=["src/**"],
            assignments={"api": "only add"},
        ),
    )
    assert run(session_api) == 0
    report = session_api.report
    assert (report.outcome, report.head, report.turns) == (Outcome.COMPLETE, None, 14)
    assert json.loads(report.answer) == {
        "choice": "guidance",
        "text": "Add, do not subtract. ü",
        "patterns": ["src/**"],
        "assignments": {"api": "only add"},
    }
    assert "There is no tool write_file" in session_api.tool_results(2)[0]
    assert git(session_api.repository, "branch", "--list", BRANCH) == ""
    names = {tool["function"]["name"] for tool in session_api.requests[0]["tools"]}
    assert names == {
        *("read_file", "list_directory", "search_files", "glob_files"),
        *("run_command", "give_answer", "task_blocked"),
    }


@pytest.mark.parametrize("ending", ["blocked", "limit"])
def test_a_consultation_that_ends_otherwise_pushes_nothing_either(
    make_door: MakeDoor, run: Run, ending: str
) -> None:
    session_api = make_door(FILES, terms=terms(consultation=consultation()), limits=Limits(turns=2))
    last = call("task_blocked", reason="r") if ending == "blocked" else call("list_directory")
    session_api.will(call("run_command", command="echo x > calc.py"), last)
    run(session_api)
    assert session_api.report.head is None
    assert git(session_api.repository, "branch", "--list", BRANCH) == ""


def test_a_consultation_that_calls_nothing_is_told_how_it_ends(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, terms=terms(consultation=consultation()))
    session_api.will(message("Well."), call("give_answer", choice="give_up", text="No."))
    assert run(session_api) == 0
    assert "end it with give_answer or task_blocked" in session_api.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"choice": "maybe", "text": "t"}, "choice must be one of guidance, give_up"),
        ({"choice": "guidance"}, "give_answer needs text"),
        ({"choice": "guidance", "text": " "}, "text is empty"),
        ({"choice": "guidance", "text": "x" * (MAX_TEXT_CHARS + 1)}, "at most 20,000"),
        ({"choice": "guidance", "text": "t", "patterns": ["../x"]}, "patterns cannot be used"),
        ({"choice": "guidance", "text": "t", "patterns": ["a"] * 500}, "at most 100 entries"),
        ({"choice": "guidance", "text": "t", "assignments": {"web": "x"}}, "Known: api"),
        ({"choice": "guidance", "text": "t", "assignments": {"api": "x" * 5000}}, "at most 100 entries"),
        (
            {"choice": "guidance", "text": "t", "assignments": {"api": 1}},
            "an object whose values are strings",
        ),
        ({"choice": "guidance", "text": "t", "assignments": "api"}, "an object whose values are strings"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    given = terms(consultation=consultation(), assignments=(Assignment(name="api", text="t"),))
    session = make_session(tmp_path, FILES, terms=given)
    assert said in refused(session, "give_answer", **arguments)


def test_a_gate_is_answered_by_a_choice_and_its_reasons_alone(tmp_path: Path) -> None:
    given = terms(consultation=consultation(ConsultationKind.GATE))
    session = make_session(tmp_path, FILES, terms=given)
    said = refused(session, "give_answer", choice="guidance", text="t", patterns=["a"])
    assert "has no argument patterns; it takes choice, text" in said


def test_assignments_may_come_as_text_of_json(tmp_path: Path) -> None:
    given = terms(consultation=consultation(), assignments=(Assignment(name="api", text="t"),))
    session = make_session(tmp_path, FILES, terms=given, scope=Scope.unrestricted())
    arguments = {"choice": "guidance", "text": "t", "assignments": '{"api": "x"}'}
    made: Any = perform(session, ToolCall(id="1", name="give_answer", arguments=arguments))
    assert json.loads(made.answer)["assignments"] == {"api": "x"}
