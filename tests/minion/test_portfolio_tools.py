"""What a session of the portfolio says to Overlord by its tools, and what its model is answered."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import TypeAdapter

from minion.errors import SessionApiRefused, ToolError
from minion.native.model import ToolCall
from minion.portfolio import (
    COMPLETION_PATH,
    ESCALATIONS_PATH,
    IDLE_PATH,
    KNOWLEDGE_PATH,
    MOST_REFUSALS,
    PLAN_PATH,
    TASKS_PATH,
    Completion,
    NewEscalation,
    NewNote,
    NewTask,
    PortfolioBrief,
    PortfolioTool,
    ProposedPlan,
)
from minion.protocol import Consultation, ConsultationKind, Limits, Outcome, Terms
from minion.session_api import SessionApi as WireDoor
from minion.tools import portfolio as tools
from minion.tools.registry import perform, schemas_of, tools_of
from overlord.domain.knowledge.note import CheckKind, NoteKind
from overlord.domain.portfolio.escalation import EscalationKind, EscalationType
from overlord.domain.portfolio.priority import Priority
from tests.minion.conftest import Program, make_session
from tests.minion.session_api import Held, SessionApi, Wire, call, done, make_brief, opened, status
from tests.minion.test_tools_server import Client, serving

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Near = Callable[..., tuple[SessionApi, Callable[..., str]]]

FILES = {"calc.py": "x = 1\n"}
ALL = PortfolioBrief(briefing="Go.", initiative='i3 "Refresh"', tools=tuple(PortfolioTool))
EDIT = call("write_file", path="calc.py", content="x = 2\n")


def wire(**value: Any) -> bytes:
    return json.dumps(value).encode()


def not_yet(*reasons: str) -> bytes:
    return wire(allowed=False, reasons=reasons)


@pytest.fixture
def near(short_path: Path, tmp_path: Path) -> Iterator[Near]:
    """A session whose tools are called here, with a session API of the test's own behind it."""
    with ExitStack() as stack:

        def make(path: str, *answers: Wire, **brief: Any) -> tuple[SessionApi, Callable[..., str]]:
            far = stack.enter_context(opened(short_path, FILES))
            far.portfolio[path] = list(answers)
            session = make_session(tmp_path, FILES, **{"portfolio": ALL, **brief})
            session.session_api = WireDoor(far.socket, patience_s=5)
            stack.callback(session.session_api.close)

            def use(tool: str, /, **arguments: Any) -> str:
                result = perform(session, ToolCall(id="1", name=tool, arguments=arguments))
                assert isinstance(result, str)
                return result

            return far, use

        yield make


ASKED = Consultation(kind=ConsultationKind.GATE, question="Good?", facts="", choices=("approve",))


@pytest.mark.parametrize("given", [(), (PortfolioTool.ESCALATE,), tuple(PortfolioTool)])
@pytest.mark.parametrize("restricted", [False, True])
def test_a_session_has_the_tools_that_its_brief_names(
    given: tuple[PortfolioTool, ...], restricted: bool
) -> None:
    terms = Terms(contract="c", phase="p", tools=("read_file",)) if restricted else None
    brief = make_brief(portfolio=PortfolioBrief(briefing="", initiative="i3", tools=given), terms=terms)
    assert {name for name in tools_of(brief) if name in set(PortfolioTool)} == set(given)


def test_nobody_else_has_them(tmp_path: Path) -> None:
    terms = Terms(contract="c", phase="p", consultation=ASKED)
    for brief in (make_brief(), make_brief(portfolio=ALL, terms=terms)):
        assert not set(tools_of(brief)) & set(PortfolioTool)
    with pytest.raises(ToolError, match="There is no tool add_task"):
        perform(make_session(tmp_path, FILES), ToolCall(id="1", name="add_task", arguments={}))


def test_schemas_are_valid_and_their_words_are_those_of_the_portfolio() -> None:
    for schema in schemas_of(make_brief(portfolio=ALL)):
        Draft202012Validator.check_schema(schema["function"]["parameters"])
    assert set(tools.PRIORITIES) == set(Priority)
    assert set(tools.NOTE_KINDS) == set(NoteKind)
    assert set(tools.CHECKS) == set(CheckKind)
    assert set(tools.ESCALATION_TYPES) == set(EscalationType)
    assert set(tools.ESCALATION_KINDS) == set(EscalationKind)


PLANNED = {"subject": "Endpoint", "acceptance_criteria": ["It answers 401."]}

SAID: tuple[tuple[str, str, dict[str, Any], type, dict[str, Any]], ...] = (
    (
        "propose_plan",
        PLAN_PATH,
        {
            "text": "# Plan",
            "tasks": json.dumps(
                [
                    {**PLANNED, "description": None, "task": "2"},
                    {**PLANNED, "acceptance_criteria": "One.", "blocked_by": [1, "2"], "priority": "high"},
                    {**PLANNED, "blocked_by": 1, "paths": ["src/**"], "labels": ["api"]},
                ]
            ),
        },
        ProposedPlan,
        {
            "tasks.0.task": 2,
            "tasks.1.blocked_by": [1, 2],
            "tasks.1.acceptance_criteria": ["One."],
            "tasks.2.blocked_by": [1],
        },
    ),
    ("propose_plan", PLAN_PATH, {"still_holds": "true"}, ProposedPlan, {"still_holds": True, "tasks": []}),
    (
        "add_task",
        TASKS_PATH,
        {**PLANNED, "blocked_by": [4, "i3.5"], "priority": "low"},
        NewTask,
        {"blocked_by": ["4", "i3.5"], "priority": "low", "description": ""},
    ),
    (
        "note_knowledge",
        KNOWLEDGE_PATH,
        {
            "kind": "pattern",
            "text": "So.",
            "question": "How?",
            "check": "text_present",
            "check_path": "a",
            "check_text": "b",
        },
        NewNote,
        {"kind": "pattern", "question": "How?", "check": {"kind": "text_present", "path": "a", "text": "b"}},
    ),
    (
        "note_knowledge",
        KNOWLEDGE_PATH,
        {"text": "It moved.", "contradicts": 12},
        NewNote,
        {"contradicts": "n12", "check": None, "nothing_learned": False},
    ),
    (
        "note_knowledge",
        KNOWLEDGE_PATH,
        {"text": "A rename.", "nothing_learned": True},
        NewNote,
        {"nothing_learned": True, "contradicts": ""},
    ),
    (
        "escalate",
        ESCALATIONS_PATH,
        {
            "type": "decision",
            "kind": "dependency",
            "question": "Redis?",
            "suggested": [{"label": "Redis", "description": None}, {"label": "No", "description": "Less."}],
            "blocks": "i3.4",
        },
        NewEscalation,
        {
            "suggested": [{"label": "Redis", "description": ""}, {"label": "No", "description": "Less."}],
            "blocks": "i3.4",
            "priority": "normal",
        },
    ),
    (
        "escalate",
        ESCALATIONS_PATH,
        {"type": "blocker", "kind": "credentials", "question": "The key?"},
        NewEscalation,
        {"blocks": "task", "suggested": []},
    ),
    (
        "record_completion",
        COMPLETION_PATH,
        {"notes": "Done.", "addressed": [{"number": "1", "evidence": "test_a"}]},
        Completion,
        {"addressed": [{"number": 1, "evidence": "test_a"}]},
    ),
)
ANY = {
    PLAN_PATH: wire(valid=True, problems=[], left=3),
    TASKS_PATH: wire(ref="i3.8", state="pending"),
    KNOWLEDGE_PATH: wire(ref="n7", state="draft"),
    ESCALATIONS_PATH: wire(ref="e5", state="draft"),
    COMPLETION_PATH: wire(accepted=True),
}


def at(value: Any, place: str) -> Any:
    for key in place.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@pytest.mark.parametrize(("tool", "path", "arguments", "record", "expected"), SAID)
def test_what_a_model_sends_arrives_as_a_whole_record(
    near: Near, tool: str, path: str, arguments: dict[str, Any], record: type, expected: dict[str, Any]
) -> None:
    far, use = near(path, ANY[path])
    assert not use(tool, **arguments).startswith("Error")
    [(sent_to, sent)] = far.said
    assert sent_to == path
    TypeAdapter(record).validate_json(json.dumps(sent), strict=True)
    assert {place: at(sent, place) for place in expected} == expected


@pytest.mark.parametrize(
    ("tool", "path", "arguments", "answer", "words"),
    [
        ("propose_plan", PLAN_PATH, {"still_holds": True}, wire(valid=True, problems=[], left=2), "The plan is kept, and a person is asked about it: end the session with task_complete."),
        (
            "propose_plan",
            PLAN_PATH,
            {"text": "p", "tasks": [PLANNED]},
            wire(valid=False, problems=["a circle: 1, 2", "task 3 has no criterion"], left=2),
            "The plan was not kept. Proposals left: 2. Mend each problem and call propose_plan with the whole plan again.\n"
            "1. a circle: 1, 2\n2. task 3 has no criterion",
        ),
        (
            "propose_plan",
            PLAN_PATH,
            {"text": "p", "tasks": [PLANNED]},
            wire(valid=False, problems=["no"], left=0),
            "The plan was not kept. No proposal is left: end the session with task_complete, and say in its summary what is open.\n1. no",
        ),
        ("add_task", TASKS_PATH, PLANNED, wire(ref="i3.8", state="pending"), "Kept as task i3.8 (pending). Go on with your own work."),
        ("add_task", TASKS_PATH, PLANNED, wire(ref="i3.8", state="proposed"), "Kept as task i3.8 (proposed). A person decides whether it is done. Go on with your own work."),
        ("note_knowledge", KNOWLEDGE_PATH, {"kind": "decision", "text": "t"}, wire(ref="n7", state="draft"), "Kept as note n7 (draft)."),
        ("note_knowledge", KNOWLEDGE_PATH, {"text": "t", "nothing_learned": True}, wire(ref="", state=""), "Noted."),
        ("record_completion", COMPLETION_PATH, {"notes": "n", "addressed": []}, wire(accepted=True), "Recorded. End the session with task_complete when its work is done."),
        (
            "record_completion",
            COMPLETION_PATH,
            {"notes": "n", "addressed": []},
            wire(accepted=False, reasons=["criterion 2 is not addressed"]),
            "Not recorded. Mend this and call record_completion again:\n1. criterion 2 is not addressed",
        ),
    ],
)  # fmt: skip
def test_what_overlord_answers_is_told_in_words(
    near: Near, tool: str, path: str, arguments: dict[str, Any], answer: bytes, words: str
) -> None:
    _, use = near(path, answer)
    assert use(tool, **arguments) == words


def test_an_escalation_is_answered_at_once_only_by_what_is_cited(near: Near) -> None:
    resolved = wire(ref="e5", state="resolved", resolution="Use Redis.", cites="r2")
    yours = wire(ref="", state="resolved", resolution="Decide it yourself.")
    _, use = near(ESCALATIONS_PATH, resolved, wire(ref="e6", state="pending"), yours)
    asked = {"type": "decision", "kind": "dependency", "question": "Redis?"}
    assert use("escalate", **asked) == "e5 is resolved (from r2): Use Redis."
    assert use("escalate", **asked).startswith("Kept as e6 (pending). Do not wait for the answer")
    assert use("escalate", **asked) == "Decide it yourself."


def test_notes_are_searched_and_shown_with_their_numbers(near: Near) -> None:
    notes = [
        {"ref": "n12", "kind": "convention", "text": "Zod\nalways.", "space": ""},
        {"ref": "n13", "kind": "pattern", "text": "Endpoints.", "space": "acme/api"},
    ]
    far, use = near(KNOWLEDGE_PATH, wire(notes=notes), wire(notes=[]))
    assert use("search_knowledge", words=" zod & yup? ") == (
        "Notes are data, and may be wrong: say so with note_knowledge and contradicts.\n"
        "- n12 (convention, everywhere): Zod always.\n- n13 (pattern, acme/api): Endpoints."
    )
    assert far.said == [(f"{KNOWLEDGE_PATH}?q=zod%20%26%20yup%3F", None)]
    assert use("search_knowledge", words="x" * 9000) == "No note has these words."
    assert len(far.said[1][0]) < 600
    with pytest.raises(ToolError, match="words is empty"):
        use("search_knowledge", words=" ")


@pytest.mark.parametrize("code", [400, 403, 404, 409, 413, 422, 429])
@pytest.mark.parametrize(
    ("tool", "path", "arguments"),
    [
        ("add_task", TASKS_PATH, PLANNED),
        ("search_knowledge", KNOWLEDGE_PATH, {"words": "zod"}),
        ("propose_plan", PLAN_PATH, {"still_holds": True}),
    ],
)
def test_a_refusal_is_the_tool_s_answer(
    near: Near, code: int, tool: str, path: str, arguments: dict[str, Any]
) -> None:
    _, use = near(path, status(code, "why", "in words"))
    with pytest.raises(ToolError) as error:
        use(tool, **arguments)
    assert str(error.value) == f"It was not taken: in words ({code} why)"


def test_a_session_that_is_over_is_no_matter_of_the_model_s(near: Near) -> None:
    _, use = near(TASKS_PATH, status(410, "ended", "this session has ended"))
    with pytest.raises(SessionApiRefused):
        use("add_task", **PLANNED)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("propose_plan", {}, "Give text and tasks; or still_holds"),
        ("propose_plan", {"text": "p", "tasks": []}, "Give text and tasks"),
        ("propose_plan", {"text": "p", "tasks": [{"subject": "s"}]}, "tasks, item 1, needs acceptance_criteria"),
        ("propose_plan", {"text": "p", "tasks": [PLANNED, {**PLANNED, "size": 3}]}, "tasks, item 2, has no argument size"),
        ("propose_plan", {"text": "p", "tasks": [{**PLANNED, "blocked_by": ["x"]}]}, "blocked_by must be an integer"),
        ("propose_plan", {"text": "p", "tasks": [{**PLANNED, "blocked_by": [0]}]}, "blocked_by must be at least 1"),
        ("propose_plan", {"text": "p", "tasks": "many"}, "tasks must be a list of objects"),
        ("propose_plan", {"text": "p", "tasks": "[" * 100_000}, "tasks must be a list of objects"),
        ("add_task", {"subject": "s"}, "add_task needs acceptance_criteria"),
        ("add_task", {**PLANNED, "priority": "asap"}, "priority must be one of urgent, high, normal, low, not 'asap'"),
        ("add_task", {**PLANNED, "blocked_by": [True]}, "blocked_by must be a string"),
        ("add_task", {**PLANNED, "subject": "\ud800"}, "lone surrogate"),
        ("note_knowledge", {"text": "t"}, "needs kind, one of convention"),
        ("note_knowledge", {"text": "t", "kind": "pattern", "check": "path_exists"}, "A check has check and check_path"),
        ("note_knowledge", {"text": "t", "kind": "pattern", "check": "text_absent", "check_path": "a"}, "also check_text"),
        ("note_knowledge", {"text": "t", "kind": "pattern", "check": "path_exists", "check_path": "a", "check_text": "b"}, "A check has"),
        ("escalate", {"type": "decision", "kind": "dependency"}, "escalate needs question"),
        ("escalate", {"type": "d", "kind": "dependency", "question": "q"}, "type must be one of"),
        ("escalate", {"type": "decision", "kind": "scope", "question": "q", "suggested": ["Redis"]}, "item 1 is a string"),
        ("record_completion", {"notes": "n"}, "record_completion needs addressed"),
        ("record_completion", {"notes": "n", "addressed": [{"number": "one", "evidence": "e"}]}, "number must be an integer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_and_not_sent(
    near: Near, tool: str, arguments: dict[str, Any], words: str
) -> None:
    far, use = near(PLAN_PATH)
    with pytest.raises(ToolError) as error:
        use(tool, **arguments)
    assert words in str(error.value)
    assert far.said == []


# Ending.


def told(session_api: SessionApi, turn: int) -> str:
    [text] = session_api.tool_results(turn)
    return text


def test_a_session_that_may_not_end_yet_is_told_why(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=ALL)
    session_api.portfolio[IDLE_PATH] = [not_yet("The task has no completion notes.", "Nothing was noted.")]
    complete = call("task_complete", summary="Done.", learnings=["l"], follow_ups=["f"])
    session_api.will(EDIT, complete, complete)
    assert run(session_api) == 0
    assert told(session_api, 2) == (
        "The session has not ended. Before it does:\n1. The task has no completion notes.\n2. Nothing was noted.\n"
        "Do that, then end it again."
    )
    asked = {"outcome": "complete", "summary": "Done.", "learnings": ["l"], "follow_ups": ["f"]}
    assert session_api.said == [(IDLE_PATH, asked)] * 2
    assert (session_api.report.outcome, session_api.report.turns) == (Outcome.COMPLETE, 3)


def test_it_is_told_so_a_few_times_and_then_ends(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=ALL, limits=Limits(tool_errors=3))
    session_api.portfolio[IDLE_PATH] = [not_yet("No.")] * 9
    session_api.will(EDIT, done())
    assert run(session_api) == 0
    assert len(session_api.said) == MOST_REFUSALS
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.turns == 2 + MOST_REFUSALS
    assert session_api.files()["calc.py"] == "x = 2"


def test_a_session_without_a_turn_left_ends(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=ALL, limits=Limits(turns=2))
    session_api.portfolio[IDLE_PATH] = [not_yet("No.")]
    session_api.will(EDIT, done())
    assert run(session_api) == 0
    assert (session_api.said, session_api.report.outcome) == ([], Outcome.COMPLETE)


def test_being_blocked_is_asked_about_too(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=ALL)
    session_api.portfolio[IDLE_PATH] = [not_yet("Nothing was escalated.")]
    session_api.will(call("task_blocked", reason="no key"))
    assert run(session_api) == 0
    assert "1. Nothing was escalated." in told(session_api, 1)
    assert session_api.said[0][1]["outcome"] == "blocked"
    assert session_api.report.outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (status(400, "bad", "summary is too long"), 2),
        (status(403, "forbidden", "not this session"), 1),
        (status(404, "http_404", "no such path"), 1),
        (status(429, "slow", "later"), 1),
        (not_yet(), 2),
        (status(503), 2),
    ],
)
def test_an_answer_that_is_none_holds_nobody_up(
    make_door: MakeDoor, run: Run, answer: Wire, asked: int
) -> None:
    """But what is wrong with the session's own words is said; and an Overlord that is not well is asked again."""
    session_api = make_door(FILES, portfolio=ALL)
    session_api.portfolio[IDLE_PATH] = [answer]
    session_api.will(EDIT, done())
    assert run(session_api) == 0
    assert len(session_api.said) == asked
    assert session_api.report.outcome is Outcome.COMPLETE


@pytest.mark.parametrize("portfolio", [None, PortfolioBrief(briefing="", initiative="", tools=ALL.tools)])
def test_a_session_of_no_initiative_is_not_asked(
    make_door: MakeDoor, run: Run, portfolio: PortfolioBrief | None
) -> None:
    session_api = make_door(FILES, portfolio=portfolio)
    session_api.portfolio[IDLE_PATH] = [not_yet("No.")]
    session_api.will(EDIT, done())
    assert run(session_api) == 0
    assert session_api.said == []


def test_term_is_not_held_up(make_door: MakeDoor, start: Callable[..., Program]) -> None:
    held = Held()
    session_api = make_door(FILES, portfolio=ALL)
    session_api.portfolio[IDLE_PATH] = [held]
    session_api.will(EDIT, done())
    program = start(session_api)
    assert held.reached.wait(60)
    program.terminate()
    assert program.wait() == 3
    held.released.set()
    assert session_api.report.reason == "terminated"
    assert session_api.files()["calc.py"] == "x = 2"


# Other agents.


@pytest.fixture
def served(short_path: Path, tmp_path: Path) -> Iterator[tuple[SessionApi, Client, Any]]:
    with opened(short_path, FILES) as far:
        session = make_session(tmp_path, FILES, portfolio=ALL)
        session.session_api = WireDoor(far.socket, patience_s=5)
        with serving(session) as (server, client):
            yield far, client, server
        session.session_api.close()


def test_other_agents_have_the_same_tools(served: tuple[SessionApi, Client, Any]) -> None:
    far, client, _ = served
    listed = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert set(PortfolioTool) <= set(listed)
    assert listed["search_knowledge"]["annotations"]["readOnlyHint"] is True
    assert listed["escalate"]["annotations"]["readOnlyHint"] is False
    far.portfolio = {path: [answer] for path, answer in ANY.items()}
    for tool, path, arguments, *_ in (SAID[1], SAID[2], SAID[3], SAID[6], SAID[8]):
        assert not client.call(tool, **arguments).startswith("Error")
        assert far.said[-1][0] == path
    far.portfolio[TASKS_PATH] = [status(409, "conflict", "there is such a task: i3.4")]
    assert (
        client.call("add_task", **PLANNED)
        == "Error: It was not taken: there is such a task: i3.4 (409 conflict)"
    )


def test_other_agents_are_told_why_they_may_not_end(served: tuple[SessionApi, Client, Any]) -> None:
    far, client, server = served
    far.portfolio[IDLE_PATH] = [not_yet("Note what you learned.")]
    assert "1. Note what you learned." in client.call("task_blocked", reason="no key")
    assert server.submission is None
    assert "the session ends here" in client.call("task_blocked", reason="no key")
    assert server.submission is not None and server.submission.outcome is Outcome.BLOCKED
