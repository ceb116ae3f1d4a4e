"""What a review must say of changed tests: of each once, and with the issue's own words where the issue is said to ask for it."""

import json
from typing import Any

import pytest

from minion.protocol import Finding
from overlord.config_files import packaged
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.review.claim import claims_for, claims_line, claims_of
from overlord.domain.review.review import ReviewAnswer, ReviewProblem, judge_review, parse_review
from overlord.domain.review.review_request import messages_for
from overlord.domain.review.rubric import load_rubric
from tests.domain.test_review import ISSUE as SOME_ISSUE
from tests.domain.test_review import PART, PROMPT, RUBRIC

ISSUE = "total() of nothing\nIt should be None, not 0,\nwhen there is nothing to add."
NAMES = ("changed-test", "red-test-explained")
CHECKS = (
    CheckResult(
        name=CheckName.TESTS,
        score=CheckScore.PASS,
        summary="",
        findings=tuple(
            Finding(
                check="tests",
                rule=rule,
                message=f"test_{rule[:3]} did.",
                file=file,
                evidence="needs a network",
            )
            for rule, file in zip(NAMES, ("a.py", None), strict=True)
        ),
    ),
)
CLAIMS = claims_of(CHECKS)


def said(
    number: int, justified: bool = True, quote: str = "It should be None, not 0", **more: Any
) -> dict[str, Any]:
    return {"number": number, "justified": justified, "quote": quote, "reason": "So it is.", **more}


def read(*claims: dict[str, Any]) -> ReviewAnswer | ReviewProblem:
    text = json.dumps({"files_reviewed": ["a.py", "b.py"], "findings": [], "claims": claims})
    return parse_review(text, PART, RUBRIC, CLAIMS, ISSUE)


def test_each_question_is_put_with_what_is_known() -> None:
    messages = messages_for(
        PART,
        issue=SOME_ISSUE,
        checks=CHECKS,
        guidance="",
        rubric=RUBRIC,
        prompt=PROMPT,
        laws=(),
        fence="fence-1",
        claims=CLAIMS,
    )
    asked = messages[1]["content"]
    assert "1. test_cha did. Does the issue ask for what this test expects now?" in asked
    assert "2. test_red did. The agent says: needs a network" in asked
    assert {one.rule for one in CLAIMS} <= set(RUBRIC.severities)


def test_what_the_issue_asks_for_stands_on_the_card() -> None:
    answer = read(said(1, quote="it should be NONE,  not 0, when there"), said(2, quote=""))
    assert isinstance(answer, ReviewAnswer)
    made = judge_review([PART], [answer], RUBRIC, CLAIMS)
    assert (made.score, made.findings) == (CheckScore.PASS, ())
    assert made.summary.endswith("1 changed test as the issue asks, 1 red test with a reason")
    assert claims_line(CHECKS) == "changes what 1 test expects, leaves 1 test of the task red"


def test_what_it_does_not_ask_for_is_sent_back() -> None:
    answer = read(said(1, justified=False, quote=""), said(2, justified=False, quote=""))
    assert isinstance(answer, ReviewAnswer)
    made = judge_review([PART], [answer], RUBRIC, CLAIMS)
    assert made.score is CheckScore.NEEDS_REVISION
    assert [(one.rule, one.file) for one in made.findings] == [
        ("expectation-changed", "a.py"),
        ("red-test-left", None),
    ]


@pytest.mark.parametrize(
    "claims",
    [
        [],
        [said(1)],
        [said(1), said(1), said(2)],
        [said(1), said(2), said(3)],
        [said(1, quote="It should be 0"), said(2)],
        [said(1, quote="It"), said(2)],
        [said(1, quote=""), said(2)],
        [said(1, reason=""), said(2)],
        [said(1, sure=True), said(2)],
    ],
)
def test_an_answer_that_leaves_one_out_or_invents_a_quote_does_not_count(
    claims: list[dict[str, Any]],
) -> None:
    assert isinstance(read(*claims), ReviewProblem)


def test_a_question_goes_with_the_part_that_has_its_file() -> None:
    parts = [("b.py",), ("a.py", "b.py"), ("a.py",)]
    assert [[one.number for one in claims_for(CLAIMS, part, parts)] for part in parts] == [[2], [1], []]


def test_a_rubric_that_knows_nothing_of_tests_sends_back_all_the_same() -> None:
    answer = read(said(1, justified=False, quote=""), said(2, quote=""))
    assert isinstance(answer, ReviewAnswer)
    made = judge_review([PART], [answer], load_rubric(packaged("rubric_skill.yaml"), "skills"), CLAIMS)
    assert (made.score, len(made.findings)) == (CheckScore.NEEDS_REVISION, 1)
