"""A briefing says what is new, once a day at its hour, whatever clocks do; and nothing when nothing changed."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from overlord.domain.budgets.budget import Cost
from overlord.domain.chat.briefing import Briefing, is_finished, suggestion
from overlord.domain.decision import DecisionKind
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import JobId, JobState
from overlord.domain.proposals.proposal import Evidence, Pattern, Trigger, propose
from tests.records import NOW, REPO, a_decision, a_job, later

ASKED = OpenDecision(decision=a_decision(), space=REPO, issue_number=7)
DONE = a_job(id=JobId(2), state=JobState.COMPLETED)
PROPOSED = propose(
    Pattern(space=REPO, fingerprint="f" * 16, trigger=Trigger.BLOCKER, label="", sample="No key."),
    Evidence(weight=2, times=2, jobs=(1,), issues=(7,)),
    at=NOW,
)
BERLIN = ZoneInfo("Europe/Berlin")


def a_briefing(**given: Any) -> Briefing:
    values: dict[str, Any] = {
        "since": NOW,
        "at": later(86400),
        "waiting": (),
        "finished": (),
        "failed": (),
        "to_review": (),
        "spent": Cost(tokens=0),
    }
    return Briefing(**{**values, **given})


def test_times_are_no_part_of_what_it_says() -> None:
    one = a_briefing(waiting=(ASKED,), finished=(DONE,))
    other = a_briefing(waiting=(ASKED,), finished=(DONE,), since=later(5), at=later(9))
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    "said",
    [
        {"waiting": (ASKED,)},
        {"waiting": (OpenDecision(decision=a_decision(body="something else"), space=REPO),)},
        {"finished": (DONE,)},
        {"failed": (DONE,)},
        {"to_review": (DONE,)},
        {"proposed": (PROPOSED,)},
        {"spent": Cost(tokens=3)},
        {"spent": Cost(tokens=3, nusd=3)},
    ],
)
def test_whatever_it_says_makes_another_fingerprint(said: dict[str, Any]) -> None:
    told = a_briefing(**said)
    assert told.fingerprint != a_briefing().fingerprint
    assert told.has_news_since("")
    assert not told.has_news_since(told.fingerprint)


def test_the_same_decisions_on_a_day_without_news_are_not_told_again() -> None:
    first = a_briefing(waiting=(ASKED,), finished=(DONE,), spent=Cost(tokens=9))
    second = a_briefing(waiting=(ASKED,))
    assert first.has_news_since("")
    assert not second.has_news_since(first.fingerprint)
    third = a_briefing(waiting=(ASKED,), spent=Cost(tokens=1))
    assert third.has_news_since(second.fingerprint), "somebody worked"
    assert a_briefing(waiting=(ASKED, ASKED)).has_news_since(first.fingerprint)


def test_an_empty_one_is_never_told() -> None:
    empty = a_briefing()
    assert empty.is_empty
    assert not empty.has_news_since("")
    assert not empty.has_news_since(a_briefing(waiting=(ASKED,)).fingerprint)


def test_its_sections_hold_what_is_of_their_kind() -> None:
    told = a_briefing(waiting=(ASKED,))
    assert told.of_kind(DecisionKind.BLOCKER) == (ASKED,)
    assert told.of_kind(DecisionKind.QUESTION) == ()
    assert suggestion(ASKED) == "Try again"
    assert [is_finished(a_job(state=state)) for state in (JobState.COMPLETED, JobState.CANCELLED)] == [
        True,
        False,
    ]
