"""Facts as sentences: every event has one, hostile words stay harmless, and an old ledger can still be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.event import EventName, Json
from overlord.domain.event_description import describe_event

DATA: dict[str, Json] = {
    "call": "c7",
    "discipline": "tdd_red",
    "status": "pass",
    "verified": True,
    "records": 2,
    "initiative": "i3",
    "tasks": 7,
    "subject": "Rotate tokens",
    "reasons": ["no notes"],
    "escalation": "e5",
    "question": "Redis or Memcached?",
    "resolution": "Redis",
    "cites": "r2",
    "rule": "r2",
    "trigger": "schedule",
    "acts": 3,
    "hook": "idle",
    "path": "spaces/acme/calc/OVERVIEW.md",
    "day": "2026-03-02",
    "issue": "acme/calc#7",
    "title": "add() subtracts",
    "session": "j1-work-1",
    "ending": "exited",
    "body": "no branch main",
    "head": "c" * 40,
    "check": "tests",
    "score": None,
    "summary": "no tests",
    "verb": "stop",
    "branch": "minion/issue-7",
    "pull": 3,
    "said": "accepted",
    "reason": "not needed",
    "number": 7,
    "decision": 4,
    "proposal": 2,
    "draft": 5,
    "verdict": "accept",
    "note": "it was not taken up",
    "answer": "Drop it",
    "trouble": "the forge is away",
    "message": 6,
    "text": "use tabs",
    "turn": 3,
    "findings": ["a.py:1 wrong", "b.py:2 wrong", "c.py:3 wrong", "d.py:4 wrong"],
    "says": "this job's budget of $2.00",
    "amount": "500000",
    "unit": "tokens",
    "asked": ["one", "two"],
    "onto": "b" * 40,
    "edition": "0123456789abcdef",
    "environment": "e" * 64,
    "runner": "docker",
    "task": "listen",
    "tried_for": "9 minutes",
    "advice": "See OPENAI_API_KEY.",
    "model": "gpt-x",
    "lasted": "2 minutes",
    "error": "the port is taken",
    "what": ["pip install -e ."],
    "size": 3_000_000,
    "created_at": "2026-03-02 09:00:00 UTC",
    "sha256": ["e" * 64, "f" * 64],
    "room": "3.1 GB free",
    "space": "acme/calc",
    "problem": "poll_s: not a number",
    "from": 1,
    "to": 2,
    "copy": "overlord.db.before-2",
    "kind": "build",
    "recorded": 4,
    "open": 2,
    "questions": 3,
    "answered": 1,
    "problems": 2,
    "patterns": ["src/**", "docs/**"],
    "choice": "without_tests",
    "skill": "order 1.0.0",
    "token": "ci",
    "right": "act",
    "spaces": ["acme/calc", "acme/web"],
    "until": "2026-05-31T09:00:00+00:00",
    "sessions": 2,
    "offered": ["order 1.0.0", "style 2.1.0"],
    "left_out": ["b.yaml is not read: skill/schema: It is no text."],
    "contract": "crew",
    "source": ".nebulus/contract at bbbbbbbbbb",
    "phase": "build",
    "role": "backend",
    "roles": ["backend", "frontend"],
    "next": "frontend",
    "why": "it cannot go on",
    "by": "architect",
    "about": "backend",
    "gate": "plan_approval",
    "fingerprint": "0123456789abcdef",
    "on": "plan->build",
    "notes": "smaller",
    "made": ["plan/plan.md"],
    "removed": ["plan/old.md"],
    "program": "notes.sh",
}


@pytest.mark.parametrize("name", EventName)
def test_every_event_can_be_told(name: EventName) -> None:
    sentence = describe_event(name, DATA)
    assert sentence != name.replace("_", " "), "it is told in words of its own"
    assert "\n" not in sentence
    assert "{" not in sentence


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (EventName.CLAIMED, "claimed acme/calc#7: add() subtracts"),
        (EventName.WORK_SUBMITTED, "the work came back as commit cccccccccccc"),
        (EventName.CHECK_COMPLETED, "tests: not made: no tests"),
        (EventName.PASSED, "the evaluation passed"),
        (EventName.STOPPED, "stopped: not needed"),
        (EventName.REVISION_ORDERED, "sent back: a.py:1 wrong; b.py:2 wrong; c.py:3 wrong and 1 more"),
        (EventName.ATTEMPTS_SPENT, "the last revision did not pass; a person decides"),
        (EventName.BUDGET_SPENT, "spent: this job's budget of $2.00"),
        (EventName.BUDGET_ADDED, "a person added 500000 tokens to its budget"),
        (
            EventName.ROUNDS_SPENT,
            "something has come up again after the last round of its kind; a person decides",
        ),
        (EventName.CHANGES_REQUESTED, "reviewers ask for changes (2 points)"),
        (EventName.CI_FAILED, "2 checks failed on the pull request"),
        (EventName.CONFLICT_FOUND, "it conflicts with its base branch in 2 files"),
        (
            EventName.SKILLS_CHOSEN,
            "the Minion may load order 1.0.0; style 2.1.0; left out: b.yaml is not read: skill/schema: It is no text.",
        ),
        (EventName.SKILLS_REVIEWED, "the skills in pull request acme/calc#3 are accepted"),
        (EventName.SKILL_LOADED, "the Minion loaded the skill order 1.0.0"),
        (EventName.REBASED, "the base branch was brought in at bbbbbbbbbbbb; cccccccccccc is judged again"),
        (
            EventName.FOREIGN_PUSH_FOUND,
            "somebody pushed cccccccccccc to its branch; it is judged anew",
        ),
        (
            EventName.ISSUE_EDITED,
            "the issue was edited; the work goes on with the text it began with",
        ),
        (EventName.ISSUE_CLOSED, "not needed"),
        (EventName.UNLABELLED, "not needed"),
        (EventName.SCOPE_WIDENED, "more may be written: src/**; docs/**"),
        (EventName.ENVIRONMENT_COMPLETED, "the environment is ready (3 MB)"),
        (EventName.ENVIRONMENT_REMOVED, "the environment eeeeeeeeeeee was removed"),
        (EventName.DAEMON_STARTED, "Overlord was started (docker)"),
        (
            EventName.ACCESS_GRANTED,
            "the token ci was made: it may act in acme/calc; acme/web, until 2026-05-31T09:00:00+00:00",
        ),
        (
            EventName.ACCESS_REVOKED,
            "the token ci was revoked; 2 browsers that signed in with it are signed out",
        ),
        (EventName.SIGNED_IN, "the bearer of the token ci signed in with a browser"),
        (EventName.SIGNED_OUT, "the bearer of the token ci signed out"),
        (EventName.SIGN_IN_REFUSED, "somebody who wanted to sign in was refused: not needed"),
        (EventName.SIDE_TASK_FAILED, "listen failed and is started again: the port is taken"),
    ],
)
def test_an_event_is_told_with_its_facts(name: EventName, sentence: str) -> None:
    assert describe_event(name, DATA) == sentence


def test_where_a_job_begins_that_mends_another_is_told() -> None:
    data: dict[str, Json] = {"contract": "crew", "source": "here", "phase": "build", "mends": 3, "afresh": ""}
    told = "it goes by contract crew (here); it begins at phase build"
    assert describe_event(EventName.CONTRACT_TAKEN, data) == f"{told}, where job 3 failed"
    assert (
        describe_event(EventName.CONTRACT_TAKEN, {**data, "afresh": "job 3 had not begun"})
        == f"{told}: job 3 had not begun"
    )


def test_which_agent_works_is_told_where_it_is_not_the_native_one() -> None:
    prepared = {"session": "j1-work-1", "kind": "work", "role": "coder"}
    agent: dict[str, Json] = {"agent": "codex", "agent_by": "label agent:codex"}
    assert describe_event(EventName.SESSION_PREPARED, {**prepared, **agent}) == (
        "prepared j1-work-1 for coder with codex (label agent:codex)"
    )
    assert describe_event(EventName.SESSION_PREPARED, prepared) == "prepared j1-work-1 for coder"
    started: dict[str, Json] = {"agent": "codex", "model": "gpt-6", "may_write": "src/**"}
    told = "codex is at work with gpt-6; it may write src/**"
    assert describe_event(EventName.SESSION_STARTED, started) == told


def test_work_that_came_no_nearer_to_a_pass_is_told_with_the_reason() -> None:
    stuck: dict[str, Json] = {"standstill": "the second attempt left as many findings as the first (1): …"}
    assert describe_event(EventName.ATTEMPTS_SPENT, stuck) == (
        "no other revision: the second attempt left as many findings as the first (1): …; a person decides"
    )


def test_a_revision_without_findings_is_told_too() -> None:
    assert describe_event(EventName.REVISION_ORDERED, {}) == "sent back: a revision on the same branch"
    assert describe_event(EventName.REVISION_ORDERED, {"findings": ["one"]}) == "sent back: one"
    assert (
        describe_event(EventName.BUDGET_ADDED, {"amount": "$2", "unit": "usd"})
        == "a person added $2 to its budget"
    )


def test_access_is_told_by_what_there_is_of_it() -> None:
    granted: dict[str, Json] = {"token": "ci", "right": "read", "spaces": [], "until": None}
    assert describe_event(EventName.ACCESS_GRANTED, granted) == "the token ci was made: it may read"
    revoked: dict[str, Json] = {"token": "ci", "sessions": 0}
    assert describe_event(EventName.ACCESS_REVOKED, revoked) == "the token ci was revoked"
    owner: dict[str, Json] = {"token": None}
    assert describe_event(EventName.SIGNED_IN, owner) == "the owner of the home signed in with a browser"
    account: dict[str, Json] = {"token": None, "account": "ada"}
    assert describe_event(EventName.SIGNED_OUT, account) == "ada of GitHub signed out"


def test_an_edit_that_was_taken_back_is_told_as_that() -> None:
    assert (
        describe_event(EventName.ISSUE_EDITED, {"edition": None}) == "the issue says again what is worked on"
    )


def test_an_end_without_a_reason_is_told_by_what_happened() -> None:
    assert describe_event(EventName.ISSUE_CLOSED, {}) == "the issue was closed"
    assert describe_event(EventName.UNLABELLED, {}) == "the label of the work under way was taken off"


def test_how_many_are_told_as_they_are() -> None:
    assert describe_event(EventName.CI_FAILED, {"asked": ["one"]}) == "1 check failed on the pull request"
    assert (
        describe_event(EventName.CI_FAILED, {"asked": "of old"}) == "some checks failed on the pull request"
    )


def test_an_event_of_another_version_is_told_by_its_name() -> None:
    assert describe_event("ship_launched", DATA) == "ship launched"
    assert describe_event(EventName.CLAIMED, {}) == "claimed"


@given(st.text())
def test_hostile_words_stay_on_their_line_without_control_characters(title: str) -> None:
    sentence = describe_event(EventName.CLAIMED, {**DATA, "title": title})
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in sentence)
    assert len(sentence.splitlines()) == 1


def test_terminal_escapes_and_direction_marks_are_gone() -> None:
    hostile = "a\x1b[2Jb\x1b]0;owned\x07c\u202ed\u2066e\x9b1mf"
    assert describe_event(EventName.CLAIMED, {**DATA, "title": hostile}).endswith(": a[2Jb]0;ownedcde1mf")


def test_where_there_is_no_forge_branches_are_told_and_no_pull_requests() -> None:
    assert describe_event("pull_opened", {"pull": 2}, is_local=True) == ""
    assert describe_event("delivered", {"pull": 2}, is_local=True) == "the work is in review"
    pushed = {"branch": "minion/issue-1", "head": "0" * 40}
    assert (
        describe_event("branch_pushed", pushed, is_local=True) == "the work is on the branch minion/issue-1"
    )
    assert describe_event("passed", {}, is_local=True) == "the evaluation passed"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"notes": 2, "refs": ["n4", "n5"]}, "a retrospective of the job wrote 2 notes (n4, n5)"),
        ({"notes": 1}, "a retrospective of the job wrote 1 note"),
        ({"notes": 0, "refs": []}, "a retrospective of the job found nothing to note"),
    ],
)
def test_a_retrospective_names_its_notes(data: dict[str, Json], sentence: str) -> None:
    assert describe_event(EventName.RETROSPECTIVE_WRITTEN, data) == sentence
