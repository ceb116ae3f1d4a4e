"""What crosses the session API: written as JSON, read back as it was, refused when it does not fit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import (
    Answer,
    Brief,
    CheckReport,
    CheckStep,
    Comment,
    Event,
    EventKind,
    Outcome,
    Report,
    SkillText,
    StepOutcome,
    StepResult,
    Tree,
    decode,
    encode,
)
from tests.records import a_brief, a_finding, a_job, an_issue

FULL = a_brief(
    a_job(),
    issue=an_issue(labels=("bug",), comments=(Comment(author="bob", association="OWNER", body="mind –0"),)),
    findings=(a_finding(file="calc.py", line=2), a_finding()),
    answers=(Answer(question="which?", answer="both"),),
    skills=(SkillText(name="tests", description="how", instructions="so"),),
    steps=(CheckStep(name="tests", tree=Tree.BASE, restore=("tests",), command=("pytest", "-q")),),
)
REPORTS = st.builds(
    Report,
    outcome=st.sampled_from(Outcome),
    summary=st.text(st.characters(codec="utf-8")),
    learnings=st.lists(st.text(st.characters(codec="utf-8"))).map(tuple),
    head=st.none() | st.text(st.characters(codec="utf-8")),
    turns=st.integers(),
)


def test_a_brief_is_read_back_as_it_was_written() -> None:
    assert decode(Brief, encode(FULL)) == FULL


@given(REPORTS)
def test_a_report_is_read_back_as_it_was_written(report: Report) -> None:
    assert decode(Report, encode(report)) == report


def test_a_check_report_is_read_back_as_it_was_written() -> None:
    step = StepResult(
        name="tests", outcome=StepOutcome.RAN, exit_code=0, junit="<testsuite/>", duration_s=1.5
    )
    report = CheckReport(steps=(step, StepResult(name="lint", outcome=StepOutcome.BROKEN)))
    assert decode(CheckReport, encode(report)) == report


def test_a_field_of_a_later_version_is_passed_over() -> None:
    document = json.loads(encode(FULL)) | {"weather": "fine"}
    assert decode(Brief, json.dumps(document)) == FULL


def test_half_a_character_becomes_a_question_mark() -> None:
    event = Event(kind=EventKind.LOG, text="half \ud83d of one")
    assert decode(Event, encode(event)).text == "half ? of one"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '"x"',
        "7",
        "null",
        "{}",
        '{"kind": "shout"}',
        '{"kind": 7}',
        '{"kind": "log", "options": 7}',
    ],
)
def test_what_does_not_fit_is_a_value_or_type_error(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        decode(Event, text)
