"""A briefing says what is new, once a day at its hour, whatever clocks do; and nothing when nothing changed."""

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from inline_snapshot import snapshot

from overlord.domain.budgets.budget import Cost
from overlord.domain.chat.brief_view import brief_view
from overlord.domain.chat.briefing import Briefing, Mentioned, is_finished, suggestion
from overlord.domain.decision import Audience, DecisionKind
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import JobId, JobState
from overlord.domain.portfolio.escalated import Affected, as_decision, task_blocked
from overlord.domain.portfolio.escalation import EscalationType, SuggestedAnswer
from overlord.domain.proposals.proposal import Evidence, Pattern, Trigger, propose
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Paragraph
from overlord.entrypoints.terminal.show import console
from overlord.entrypoints.terminal.view_text import show_view
from tests.records import NOW, REPO, a_decision, a_job, an_escalation, later

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


# What a briefing shows.

E = EscalationType


def a_question(
    kind: EscalationType, place: str, text: str, blocks: str, *labels: str, number: int
) -> OpenDecision:
    space, _, initiative = place.partition(" / ")
    suggested = tuple(SuggestedAnswer(label=label) for label in labels)
    escalation = an_escalation(type=kind, space=space, question=text, suggested=suggested, context="")
    affected = Affected(initiative=initiative, blocks=blocks)
    asked = as_decision(escalation, affected, path=("a",), audience=Audience.WRITER, at=NOW)
    why = {"Redis": "persistent, shared across instances"}.get(labels[0] if labels else "", "")
    return OpenDecision(decision=replace(asked, id=number), space=space, initiative=initiative, why=why)


WAITING = (
    a_question(
        E.DECISION,
        "acme/auth / jwt-refresh",
        "Redis or Memcached for token blacklisting?",
        task_blocked(4, "Implement token blacklist"),
        *("Redis", "Memcached"),
        number=1,
    ),
    a_question(
        E.DECISION,
        "acme/api / rates",
        "Per-user or per-IP?",
        task_blocked(2, "Add a limit"),
        "Per-user",
        number=2,
    ),
    a_question(
        E.BLOCKER,
        "acme/auth / sso",
        "Need OAuth client credentials for Google",
        "entire initiative",
        number=3,
    ),
    a_question(
        E.QUESTION, "acme/api / users", "Should admins bypass it?", task_blocked(5, "Add admins"), number=4
    ),
    a_question(
        E.APPROVAL, "acme/auth / jwt-refresh", "Plan ready: 7 tasks, ready to start?", "nothing", number=5
    ),
)


def test_it_has_the_form_that_people_read_in_a_minute() -> None:
    told = a_briefing(
        waiting=WAITING,
        done=(Mentioned(ref="i1.3", place="acme/auth / jwt-refresh", text="Rotate tokens"),),
        resolved=(Mentioned(ref="e9", place="acme/api / rates", text="Which header? X-Rate (from r2)"),),
        noted=(Mentioned(ref="n4", place="", text="Always use Zod."),),
        going_on=(Mentioned(ref="i1.4", place="acme/auth / jwt-refresh", text="Blacklist"),),
    )
    with console.capture() as shown:
        show_view(brief_view(told, has_actions=False))
    assert "\n".join(line.rstrip() for line in shown.get().splitlines()) == snapshot("""\
DECISIONS (2)
  1: [acme/auth / jwt-refresh] Redis or Memcached for token blacklisting?
    Suggested: Redis (persistent, shared across instances)
    Blocks: task #4 "Implement token blacklist"

  2: [acme/api / rates] Per-user or per-IP?
    Suggested: Per-user
    Blocks: task #2 "Add a limit"

BLOCKERS (1)
  3: [acme/auth / sso] Need OAuth client credentials for Google
    Blocks: entire initiative

QUESTIONS (1)
  4: [acme/api / users] Should admins bypass it?
    Blocks: task #5 "Add admins"

APPROVALS (1)
  5: [acme/auth / jwt-refresh] Plan ready: 7 tasks, ready to start?
    View details: overlord decisions show 5

Tasks done (1)
- i1.3: [acme/auth / jwt-refresh] Rotate tokens

Answered without asking you (1)
- e9: [acme/api / rates] Which header? X-Rate (from r2)

Learned, and not accepted yet (1)
- n4: Always use Zod.

Goes on (1)
- i1.4: [acme/auth / jwt-refresh] Blacklist
Spent since 2 Mar 09:00 UTC: 0 tokens.\
""")


def test_what_was_done_answered_and_learned_is_news_and_what_goes_on_is_not() -> None:
    line = (Mentioned(ref="i1.3", place="", text="x"),)
    for news in ({"done": line}, {"resolved": line}, {"noted": line}):
        assert a_briefing(**news).has_news_since("")
        assert a_briefing(**news).fingerprint != a_briefing().fingerprint
    assert a_briefing(going_on=line).is_empty


def test_an_earlier_one_is_shown_as_it_was_written() -> None:
    shown = brief_view(a_briefing(kept="### DECISIONS (1)\n\n- 1: [acme/calc] Which?\n  - Blocks: nothing"))
    assert shown.summary == "Briefing of 2026-03-03"
    assert shown.parts[0] == Paragraph((Bold("DECISIONS (1)"),))
