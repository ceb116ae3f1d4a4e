"""What a session is told first where its contract has terms."""

import re
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest

from minion.native.contract_prompt import MOST_ENTRIES
from minion.native.prompt import IDENTITY, MISSION, WORLD, instructions, layers, mission
from minion.protocol import (
    Answer,
    Assignment,
    Brief,
    Comment,
    Consultation,
    ConsultationKind,
    EarlierSession,
    Finding,
    Issue,
    Message,
    PlanFile,
    SkillText,
    Terms,
)
from tests.minion.session_api import make_brief

FULL: dict[str, Any] = {
    "skills": (SkillText(name="a", description="d", instructions="i"),),
    "findings": (
        Finding(check="tests", rule="red", message="m", file="a.py", line=3, evidence="e", suggestion="s"),
        Finding(check="x", rule="y", message="z"),
    ),
    "answers": (Answer(question="q", answer="a", by="ada", at="noon"),),
    "messages": (Message(id=1, text="hi", by="bob", at="now"),),
    "tried": ("t",),
    "guidance": "g",
    "named_files": ("a.py", "b\nc"),
    "knowledge": "k",
    "scope_reasons": ("why",),
    "issue": Issue(
        number=7,
        title="T",
        body="B",
        author="al",
        comments=(Comment(author="c", association="NONE", body="cb"),),
    ),
}


def full_terms(**more: Any) -> Terms:
    given: dict[str, Any] = {
        "contract": "contract-words",
        "phase": "phase-words",
        "guidance": "guidance-words",
        "outputs": ("outputs-words",),
        "criteria": ("criteria-words: npm test",),
        "commands": ("commands-words",),
        "outcomes": ("done", "outcomes-words"),
        "events": ("events-words",),
        "plan": (PlanFile(path="plan/plan-words.md", text="never told here"),),
        "inputs": ("inputs-words",),
        "reads": ("reads-words",),
        "assignments": (
            Assignment(name="assignments-words", text="first"),
            Assignment(name="web", text="second", blocked="blocked-words"),
        ),
        "history": (EarlierSession(role="architect", phase="plan", summary="history-words"),),
        "feedback": ("feedback-words",),
        "last_diff": "last_diff-words",
        "secret_paths": ("secret_paths-words",),
    }
    return Terms(**(given | more))


def brief(**more: Any) -> Brief:
    return make_brief(terms=full_terms(**more), **FULL)


@pytest.mark.parametrize(
    ("more", "first", "second"),
    [
        (
            {},
            "630ed5fbabcc57ab5209f269167139a08194cb4d53fbfce887f552b325c0e88e",
            "9a5674bacda84de3778118121c9c370c03b693b81ce61bfaeceb79cd883366b4",
        ),
        (
            FULL,
            "4ce71315354238f07c5eae3e183c463e80bc1746971bc0b3064388210078e499",
            "cff9254363ef6c74ad7e4a03a2903c992c30527e371c551a6f03143fa68264fd",
        ),
    ],
)
def test_without_terms_the_words_are_the_same_byte_for_byte(
    more: dict[str, Any], first: str, second: str
) -> None:
    told = make_brief(**more)
    assert sha256(instructions(told, "F").encode()).hexdigest() == first
    assert sha256(mission(told, "F").encode()).hexdigest() == second


def test_every_term_is_told_in_its_layer() -> None:
    told = brief()
    said: dict[str, str] = {IDENTITY: "", MISSION: "", WORLD: ""}
    for part in layers(told, "F"):
        said[part.layer] += part.text
    where = {
        IDENTITY: ("guidance", "outputs", "commands", "outcomes", "events", "secret_paths"),
        MISSION: ("contract", "phase", "criteria", "assignments", "blocked", "feedback", "last_diff"),
        WORLD: ("plan", "inputs", "reads", "history"),
    }
    for layer, names in where.items():
        for name in names:
            assert [key for key in said if f"{name}-words" in said[key]] == [layer], name
    told_otherwise = {
        "tools",
        "plan_outputs",
        "plan_hides_own",
        "consultation",
        "blocked",
        "bootstrap",
        "contract_schema",
    }  # in schemas, refusals, a question
    known = {item.name for item in fields(Terms)}
    assert {name for names in where.values() for name in names} | told_otherwise == known | {"blocked"}
    assert "never told here" not in "".join(said.values())


def test_each_part_says_where_it_comes_from() -> None:
    assert [(part.layer, part.source) for part in layers(brief(), "F")] == [
        (IDENTITY, "program"),
        (IDENTITY, "contract"),
        (IDENTITY, "contract"),
        (IDENTITY, "contract"),
        (IDENTITY, "evaluation"),
        (MISSION, "issue"),
        (MISSION, "comment by c (NONE)"),
        (MISSION, "phase phase-words"),
        (MISSION, "assignments"),
        (MISSION, "feedback 1"),
        (MISSION, "last attempt"),
        (MISSION, "evaluation"),
        (MISSION, "earlier session"),
        (MISSION, "answer"),
        (MISSION, "message 1"),
        (WORLD, "base"),
        (WORLD, "inputs"),
        (WORLD, "plan"),
        (WORLD, "scope"),
        (WORLD, "named files"),
        (WORLD, "guidance"),
        (WORLD, "knowledge"),
        (WORLD, "skills"),
        (WORLD, "architect in plan 1"),
        (WORLD, "program"),
    ]


@pytest.mark.parametrize("given", [make_brief(), make_brief(**FULL), brief()])
def test_the_parts_are_all_that_is_told(given: Brief) -> None:
    parts = layers(given, "F")
    first = [part.text for part in parts if part.layer == IDENTITY]
    rest = [part.text for part in parts if part.layer != IDENTITY]
    assert instructions(given, "F") == "\n".join(first)
    assert mission(given, "F") == "\n\n".join(rest)
    assert mission(given, "F").endswith("\n\nBegin.")


def test_the_same_brief_gives_the_same_words_but_for_the_fence() -> None:
    def words(fence: str) -> str:
        return instructions(brief(), fence) + mission(brief(), fence)

    assert words("data-1") == words("data-1")
    assert words("data-1") == words("data-2").replace("data-2", "data-1")


def test_what_others_wrote_is_between_the_marks() -> None:
    text = "\n".join(part.text for part in layers(brief(), "F"))
    assert "-words" in text
    assert "-words" not in re.sub(r"<F source=.*?</F>", "", text, flags=re.DOTALL)


def test_blocked_assignments_are_marked() -> None:
    told = mission(brief(), "F")
    assert "web (blocked: blocked-words)\nsecond" in told
    assert "assignments-words\nfirst" in told


def test_a_text_that_would_not_stay_in_its_line_is_written_out() -> None:
    told = mission(brief(criteria=("a\nb: evil",), reads=("x\ny",)), "F")
    assert "- 'a\\nb: evil'" in told
    assert "- 'x\\ny'" in told


def test_attempts_that_were_taken_back_are_told_as_such() -> None:
    assert "was taken back for these findings" in instructions(brief(), "F")
    assert "Your branch holds earlier work" in instructions(brief(last_diff=""), "F")
    assert "nothing of it is in your working copy" in mission(brief(), "F")


def test_the_latest_of_many_are_told_and_long_ones_are_cut() -> None:
    many = tuple(f"attempt {number}." for number in range(1, 100))
    told = mission(brief(feedback=many, last_diff="x" * 1_000_000), "F")
    assert "attempt 99." in told
    assert "attempt 1." not in told
    assert told.count('source="feedback ') == MOST_ENTRIES
    assert "960,000 more characters were left out" in told


def test_terms_that_say_nothing_add_only_their_phase() -> None:
    plain = make_brief()
    told = replace(plain, terms=Terms(contract="default", phase="build"))
    assert instructions(told, "F") == instructions(plain, "F")
    added = set(mission(told, "F").split("\n\n")) - set(mission(plain, "F").split("\n\n"))
    assert added == {
        "Where the task stands in the project's contract, and what is checked when you are done:",
        '<F source="phase">\nphase build of the contract default\n</F>',
    }


def test_a_consultation_is_asked_its_question_and_promised_no_tools_it_has_not() -> None:
    asked = Consultation(
        kind=ConsultationKind.GATE,
        question="question-words",
        facts="facts-words",
        choices=("approve", "reject"),
    )
    told = brief(consultation=asked)
    first, rest = instructions(told, "F"), mission(told, "F")
    assert "question-words\nAnswers: approve, reject" in rest
    assert "facts-words" in rest
    assert rest.index("facts-words") > rest.index("message 1"), "the question stands last of the mission"
    assert "give_answer" in first
    for name in ("task_complete", "ask_question", "You may write"):
        assert name not in first
