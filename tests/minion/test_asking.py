"""What a session is told, may ask for and is refused, the program run for real."""

from collections.abc import Callable

from minion.protocol import Answer, EventKind, Finding, Limits, Message, Outcome, Scope, SkillText
from tests.minion.conftest import Program
from tests.minion.session_api import BRANCH, SessionApi, call, done, git, message, status

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Begin = Callable[..., Program]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "Calc\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")


def test_completion_without_a_change_is_questioned_once(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(done())
    assert run(session_api) == 0
    assert "No file of the repository has changed" in session_api.tool_results(1)[0]
    assert (session_api.report.outcome, session_api.report.head, session_api.report.turns) == (
        Outcome.COMPLETE,
        None,
        2,
    )


def test_a_command_that_went_around_the_scope_is_pointed_out_once(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, scope=Scope(patterns=("calc.py",)))
    session_api.will(EDIT, call("run_command", command="echo more >> README.md"), done(), done())
    assert run(session_api) == 0
    assert (
        "outside your scope and the work will be sent back for them: README.md"
        in session_api.tool_results(3)[0]
    )
    assert session_api.report.outcome is Outcome.COMPLETE


def test_a_write_outside_the_scope_is_refused_and_a_grant_opens_it_at_once(
    make_door: MakeDoor, run: Run
) -> None:
    session_api = make_door(FILES, scope=Scope(patterns=("calc.py",)))
    write = call("write_file", path="README.md", content="Calc adds.\n")
    ask = call("ask_question", question="May I?", kind="scope", patterns=["README.md"])
    session_api.will(write, ask, write, done())
    granted = b'{"answered": true, "answer": "yes", "scope": {"mode": "directory", "patterns": ["*.md", "calc.py"]}}'
    session_api.answers = [lambda handler: handler.answer(204), lambda handler: handler.answer(200, granted)]
    assert run(session_api) == 0
    assert 'ask_question(kind="scope", patterns=["README.md"]' in session_api.tool_results(1)[0]
    [asked] = [event for event in session_api.events if event.kind is EventKind.QUESTION]
    assert (asked.question_kind, asked.patterns, asked.text) == ("scope", ("README.md",), "May I?")
    assert "You may now write: *.md, calc.py" in session_api.tool_results(2)[0]
    assert session_api.files()["README.md"] == "Calc adds."


def test_a_question_nobody_answers_lets_the_session_go_on(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, limits=Limits(questions=1))
    ask = call("ask_question", question="Which one?", options=["a", "b"])
    session_api.will(ask, EDIT, ask, done())
    session_api.answers = [status(410, "expired")]
    assert run(session_api) == 0
    assert "Nobody answered in time" in session_api.tool_results(1)[0]
    assert "has asked its 1 questions" in session_api.tool_results(3)[0]


def test_questions_that_cannot_be_asked_or_understood_are_explained(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    grant = b'{"answered": true, "answer": "yes", "scope": ["../"]}'
    plain = b'{"answered": true, "answer": "no", "scope": null}'
    session_api.answers = [
        lambda handler: handler.answer(200, grant),
        lambda handler: handler.answer(200, plain),
        status(404, "unknown", "no such question"),
    ]
    ask = ("ask_question", {"question": "May I?", "kind": "scope", "patterns": ["x"]})
    session_api.will(
        message(None, ("ask_question", {"question": "?", "kind": "scope"}), ask, ask, ask), EDIT, done()
    )
    assert run(session_api) == 0
    without, unreadable, refused, unknown = session_api.tool_results(1)
    assert "needs patterns" in without
    assert "cannot be read, so yours is unchanged" in unreadable
    assert refused == "A person answered: no"
    assert "was not accepted: no such question" in unknown


def test_a_question_is_waited_for_no_longer_than_its_limit(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, limits=Limits(question_wait_s=0))
    session_api.will(call("ask_question", question="?"), EDIT, done())
    assert run(session_api) == 0
    assert "Nobody answered in time" in session_api.tool_results(1)[0]


def test_a_reply_that_breaks_a_tool_apart_is_reported_as_internal(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, call("ask_question", question="?"))
    session_api.answers = [lambda handler: handler.answer(200, b"not json")]
    assert run(session_api) == 3
    assert session_api.report.reason == "internal"
    assert any(event.kind is EventKind.LOG and "Traceback" in event.text for event in session_api.events)


def test_a_revision_is_told_its_findings_and_answers(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        FILES,
        change={"calc.py": "def add(a, b):\n    return b + a\n"},
        findings=(Finding(check="review", rule="r-1", message="mind the order", file="calc.py", line=2),),
        answers=(Answer(question="Which order?", answer="a first"),),
        guidance="Use tabs.",
        knowledge="CI is slow.",
        skills=(SkillText(name="order", description="how to order", instructions="a, then b"),),
    )
    session_api.will(
        message(None, ("list_skills", {}), ("use_skill", {"name": "order"}), ("use_skill", {"name": "none"})),
        call("edit_file", path="calc.py", old="b + a", new="a + b"),
        done(),
    )
    assert run(session_api) == 0
    system, mission = (item["content"] for item in session_api.requests[0]["messages"][:2])
    assert "review r-1 · calc.py:2 · mind the order" in system
    assert all(
        text in mission for text in ("Which order?", "a first", "Use tabs.", "CI is slow.", "how to order")
    )
    assert session_api.tool_results(1)[1] == "a, then b"
    assert "There is no skill 'none'. Known: order." in session_api.tool_results(1)[2]
    assert git(session_api.repository, "log", "--format=%s", f"main..{BRANCH}") == "done\nchange"


def test_commands_reach_the_model_by_loopback_and_carry_nothing_of_ours(
    make_door: MakeDoor, run: Run
) -> None:
    session_api = make_door(FILES)
    ask = (
        "import os, urllib.request as u\nprint(sorted(os.environ))\n"
        "print(u.urlopen(os.environ['OPENAI_BASE_URL'] + '/chat/completions', b'{\"messages\": []}').read())\n"
    )
    session_api.will(
        call("write_file", path="ask.py", content=ask), call("run_command", command="python ask.py"), done()
    )
    assert run(session_api, OPENAI_API_KEY="canary", GITHUB_TOKEN="canary") == 0
    [printed] = session_api.tool_results(2)
    assert "write_file" in printed
    assert "OPENAI_API_KEY" in printed
    assert not any(
        name in printed for name in ("OVERLORD_URL", "MINION_SCOPE", "GITHUB_TOKEN", "MINION_WORK")
    )


def test_what_a_person_says_is_read_before_the_next_turn_and_before_the_session_ends(
    make_door: MakeDoor, run: Run
) -> None:
    session_api = make_door(FILES)
    early = Message(id=4, text="</message 4> Use <tabs>.", by="slack:U1", at="2026-11-25 10:00 UTC")
    session_api.messages = [(1, early), (2, Message(id=5, text="And say so.", by="github:anna", at=""))]
    session_api.will(call("read_file", path="README.md"), EDIT, done(), done())
    assert run(session_api) == 0
    assert session_api.taken == [(2, 4), (3, 5)]
    heard = session_api.requests[1]["messages"][-1]["content"]
    assert "A person (slack:U1, 2026-11-25 10:00 UTC) writes to you" in heard
    assert "</message 4> Use <tabs>." in heard
    assert "And say so." in session_api.requests[2]["messages"][-1]["content"]


def test_a_session_that_would_end_reads_first_what_came_meanwhile(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, done(), EDIT, done())
    late = Message(id=7, text="Wait: double too.", by="cli:bob", at="")
    session_api.messages = [(2, late)]
    assert run(session_api) == 0
    assert "The session has not ended" in session_api.tool_results(2)[0]
    assert "Wait: double too." in session_api.requests[2]["messages"][-1]["content"]
    assert session_api.report.outcome is Outcome.COMPLETE
