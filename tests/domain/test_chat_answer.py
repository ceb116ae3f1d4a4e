"""Answers in a chat: short, whole, and other people's words only ever as text."""

import sqlite3
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from overlord.command_ref import CommandRef, hint
from overlord.domain.budgets.budget import NANO, Budget, Cost, Per, Spending, Unit
from overlord.domain.chat import answer
from overlord.domain.chat.briefing import Briefing
from overlord.domain.conversation.argument import CommandError
from overlord.domain.decision import DecisionKind
from overlord.domain.inquiry import (
    Cap,
    Costs,
    DayCost,
    EndedJob,
    History,
    HistoryLine,
    JobCost,
    JobView,
    OpenDecision,
    Queue,
    Queued,
    Share,
    SpaceError,
    Status,
    Why,
    age_text,
    total,
)
from overlord.domain.job import JobId, JobState
from overlord.domain.pause import Pause
from overlord.domain.view.span import Bold, Code, Link, Mark, Moment, Span
from overlord.domain.view.view import Bullets, Heading, Note, Outline, Paragraph, Part, Table, View
from overlord.engine.chat.chat_view import chat_view
from overlord.errors import Refused
from overlord.queries import registry
from overlord.queries.look import Look
from overlord.settings.load import load
from overlord.verbs.typed_words import typed_in_chat
from tests.records import NOW, REPO, a_decision, a_finding, a_job, a_session, an_issue, later

WEB = "https://github.com"
HOSTILE = (
    "<!channel> <@U1> *b* `c` <https://evil|x> \x1b[2J\u202eevil\u200b\nWAITING: all is well " + "x" * 300
)
JOB = a_job(id=JobId(3), state=JobState.RUNNING)
PAUSE = Pause(space="", actor="cli:alice", at=NOW, reason="lunch")
ASKED = OpenDecision(decision=a_decision(id=5), space=REPO, issue_number=7)
COST = Cost(tokens=1234, nusd=NANO // 2)
CAP = Cap(
    budget=Budget(per=Per.DAY, unit=Unit.USD, limit=2 * NANO),
    spending=Spending(limit=2 * NANO, spent=NANO * 9 // 5),
)
SPACE_CAP = Cap(
    budget=Budget(per=Per.SPACE_DAY, unit=Unit.TOKENS, limit=9000),
    spending=Spending(limit=9000, spent=0),
    space=REPO,
)


KEEP = hint("say ", CommandRef("answer", ("5", "keep")))
LOOK = Look(connection=sqlite3.connect(":memory:"), current_settings=lambda: load({}), at=later(120))


def shown(name: str, value: object, *, web: str = "") -> View:
    """What a query's value looks like in a chat."""
    return chat_view(registry.find(name).view(LOOK, value), web=web)


def span(value: Span) -> str:
    """As people see it, with what makes it stand out."""
    match value:
        case Bold(text):
            return f"*{text}*"
        case Code(text):
            return f"`{text}`"
        case Moment():
            return value.words
        case Link(url, text):
            return f"[{text}]({url})"
        case Mark(sign):
            return f"{sign} "
        case str():
            return value
    raise AssertionError(f"{value} speaks to people")


def told(part: Part) -> str:
    match part:
        case Heading(text):
            return f"# {text}"
        case Paragraph(spans):
            return "".join(map(span, spans))
        case Bullets(items):
            return "\n".join("- " + "".join(map(span, item)) for item in items)
        case Outline(points):
            lines = [["".join(map(span, line)) for line in point] for point in points]
            return "\n".join("- " + "\n  ".join(point) for point in lines)
        case Note(text):
            return f"({text})"
        case Table(_, rows):
            cells = (["".join(map(span, cell)) for cell in row if cell] for row in rows)
            return "\n".join("- " + " · ".join(row) for row in cells)
    raise AssertionError(part)


def plain(message: View) -> str:
    return "\n".join(map(told, message.parts)) + "\n"


def a_view(**given: Any) -> JobView:
    session = replace(a_session(JOB), turn=4, last_action="ran pytest")
    return JobView(**{"job": JOB, "session": session, "cost": COST, **given})


def a_status(**given: Any) -> Status:
    values: dict[str, Any] = {
        "at": later(3 * 3600),
        "jobs": (a_view(),),
        "waiting": (ASKED,),
        "poll_errors": (
            SpaceError(name=REPO, trouble="the forge is away"),
            SpaceError(name="acme/old", trouble="404", is_gone=True),
        ),
        "pauses": (PAUSE,),
        "today": COST,
    }
    return Status(**{**values, **given})


def test_status() -> None:
    message = shown("status", a_status(), web=WEB)
    assert message.summary == "1 open job, 1 decision waiting for a person"
    assert plain(message) == snapshot("""\
# 1 open job, 1 decision waiting for a person
- 3 · 🛠️ [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts · *at work* · turn 4: ran pytest · 3 h
- *5* · blocker · acme/calc#7: the Minion says it cannot go on · `retry | take_over | drop` · 3 h
- See one, and what each answer does: `/overlord decision 5`
⏸️ Everything is paused by alice: lunch
⚠️ *acme/calc* gives trouble: the forge is away
⚠️ *acme/old* cannot be found: 404
(Today: 1,234 tokens for $0.5000.)
""")


def test_nothing_goes_on() -> None:
    quiet = a_status(jobs=(), waiting=(), poll_errors=(), pauses=(), today=Cost(tokens=0))
    assert plain(shown("status", quiet)) == snapshot("""\
# 0 open jobs, nothing waits for a person
No open jobs. Label an issue to start one.
(Today: 0 tokens.)
""")
    queue = Queue(at=NOW, jobs=(), running=0, most=3)
    assert "Nothing is queued." in plain(shown("queue", queue))
    assert "No job has ended yet." in plain(shown("history", History(at=NOW, jobs=())))
    assert "Nothing waits for a person." in plain(shown("decisions", ()))


def test_what_a_job_is_at() -> None:
    assert a_view().doing == "turn 4: ran pytest"
    assert a_view(session=a_session(JOB)).doing == "j3-work-1"
    assert a_view(session=None, job=replace(JOB, reason="which?")).doing == "which?"


def test_the_queue() -> None:
    urgent = replace(JOB, is_urgent=True)
    queue = Queue(
        at=NOW,
        jobs=(Queued(job=urgent, why="it is next"), Queued(job=JOB, why="behind 1 other job")),
        running=2,
        most=3,
        pauses=(PAUSE,),
    )
    assert plain(shown("queue", queue)) == snapshot("""\
# 2 jobs in the queue
- 3 · ⚡ 🛠️ `acme/calc#7` add() subtracts · it is next · 0 s
- 3 · 🛠️ `acme/calc#7` add() subtracts · behind 1 other job · 0 s
⏸️ Everything is paused by alice: lunch
(2 of 3 sessions at once are taken.)
""")


def test_history() -> None:
    merged = replace(JOB, state=JobState.COMPLETED, pull_number=9)
    stopped = replace(JOB, state=JobState.CANCELLED, reason="not needed")
    history = History(
        at=later(2 * 86400),
        jobs=(
            EndedJob(job=merged, ended_at=later(7200), cost=COST),
            EndedJob(job=stopped, ended_at=later(600), cost=Cost(tokens=0)),
        ),
    )
    assert plain(shown("history", history, web=WEB)) == snapshot("""\
# What ended lately
- 3 · ✅ [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts · *merged* · [PR #9](https://github.com/acme/calc/pull/9) · 1,234 tokens for $0.5000 · 2 h · 1 d
- 3 · ⏹️ [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts · *ended*: not needed · 0 tokens · 10 min · 1 d
""")


def a_why(**given: Any) -> Why:
    values: dict[str, Any] = {
        "at": NOW,
        "view": a_view(
            session=None, job=replace(JOB, state=JobState.WAITING, reason="which?", pull_number=9)
        ),
        "told": (HistoryLine(at=NOW, sentence="claimed acme/calc#7", actor="overlord"),),
        "earlier": 4,
        "decisions": (a_decision(id=5),),
        "findings": (a_finding(),),
    }
    return Why(**{**values, **given})


def test_why() -> None:
    assert plain(shown("why", a_why())) == snapshot("""\
# Job 3: acme/calc#7
✋ `acme/calc#7` add() subtracts `PR #9`
*Waiting for a person*: which?
- *5* · blocker · acme/calc#7: the Minion says it cannot go on · `retry | take_over | drop` · 0 s
- See one, and what each answer does: `/overlord decision 5`
# What was held against it
- [tests/test-failed] It fails.
# What happened
- 2 Mar 09:00 UTC claimed acme/calc#7
(4 earlier events · 1,234 tokens for $0.5000)
""")
    short = a_why(told=(), earlier=0, decisions=(), findings=(), view=a_view(session=None))
    assert plain(shown("why", short)) == snapshot("""\
# Job 3: acme/calc#7
🛠️ `acme/calc#7` add() subtracts
*At work*
(1,234 tokens for $0.5000)
""")


def a_cost(**given: Any) -> Costs:
    days = tuple(
        DayCost(day=day, cost=cost, spaces=(Share(name=REPO, cost=cost),))
        for day, cost in (("2026-03-02", COST), ("2026-03-01", Cost(tokens=6)))
    )
    values: dict[str, Any] = {"at": NOW, "days": days, "total": total(day.cost for day in days), "caps": ()}
    return Costs(**{**values, **given})


def test_costs() -> None:
    assert plain(shown("cost", a_cost(caps=(CAP, SPACE_CAP)))) == snapshot("""\
# The last 2 days: 1,240 tokens for $0.5000
- 2026-03-02 · 1,234 tokens for $0.5000
- 2026-03-01 · 6 tokens
- *acme/calc* · 1,240 tokens for $0.5000
- ⚠️ $0.2000 left of today's budget ($2.00)
- acme/calc: 9,000 tokens left of today's budget of this repository (9,000 tokens)
(Days are those of UTC.)
""")
    today = DayCost(day="2026-03-02", cost=Cost(tokens=0))
    assert plain(shown("cost", a_cost(days=(today,), total=Cost(tokens=0)))) == snapshot("""\
# Today: 0 tokens
(Days are those of UTC.)
""")


def test_what_costs_most_stands_first() -> None:
    shares = (Share(name="acme/b", cost=Cost(tokens=5)), Share(name="acme/a", cost=Cost(tokens=1, nusd=7)))
    found = a_cost(days=(DayCost(day="2026-03-02", cost=COST, spaces=shares),)).spaces
    assert [share.name for share in found] == ["acme/a", "acme/b"]


def test_one_jobs_cost() -> None:
    cost = JobCost(at=NOW, job=JOB, total=COST, sessions=(Share(name="j3-work-1", cost=COST),), caps=(CAP,))
    assert plain(shown("cost", cost)) == snapshot("""\
# Job 3, acme/calc#7: 1,234 tokens for $0.5000
- *j3-work-1* · 1,234 tokens for $0.5000
- ⚠️ $0.2000 left of today's budget ($2.00)
""")


def test_decisions() -> None:
    space = OpenDecision(decision=a_decision(id=6, job_id=None, space="acme/old"), space="acme/old")
    assert plain(shown("decisions", (ASKED.decision, space.decision))) == snapshot("""\
# 2 decisions waiting for a person
- *5* · blocker · acme/calc#7: the Minion says it cannot go on · `retry | take_over | drop` · 2 min
- *6* · blocker · acme/calc#7: the Minion says it cannot go on · `retry | take_over | drop` · 2 min
- See one, and what each answer does: `/overlord decision 5`
""")


def a_briefing(**given: Any) -> Briefing:
    values: dict[str, Any] = {
        "since": NOW,
        "at": later(86400),
        "waiting": (
            ASKED,
            OpenDecision(
                decision=a_decision(id=6, kind=DecisionKind.APPROVAL, job_id=None, blocks="every job"),
                space="acme/old",
            ),
        ),
        "finished": (replace(JOB, state=JobState.COMPLETED, pull_number=9),),
        "failed": (replace(JOB, state=JobState.FAILED, reason="its lifetime is over"),),
        "to_review": (replace(JOB, state=JobState.IN_REVIEW, pull_number=10),),
        "spent": COST,
    }
    return Briefing(**{**values, **given})


def test_the_briefing() -> None:
    message = shown("briefing", a_briefing(), web=WEB)
    assert message.summary == "Briefing: 2 waiting for you, 1 finished, 1 failed or ended, 1 to review"
    assert plain(message) == snapshot("""\
# Briefing: 2 waiting for you, 1 finished, 1 failed or ended, 1 to review
# BLOCKERS (1)
- *5: *[acme/calc#7] the Minion says it cannot go on
  Suggested: *Try again*
  Blocks: this job
- Try again: `/overlord answer 5 retry`  it is tried again, as things stand now
# APPROVALS (1)
- *6: *[acme/old] acme/calc#7: the Minion says it cannot go on
  Suggested: *Try again*
  Blocks: every job
  View details: `/overlord decision 6`
- Try again: `/overlord answer 6 retry`  it is tried again, as things stand now
# Finished (1)
- ✅ [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts [PR #9](https://github.com/acme/calc/pull/9)
# Failed or ended (1)
- ❌ [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts (its lifetime is over)
# To review (1)
- 👀 [acme/calc#7](https://github.com/acme/calc/issues/7) add() subtracts [PR #10](https://github.com/acme/calc/pull/10)
Spent since 2 Mar 09:00 UTC: 1,234 tokens for $0.5000.
""")


def test_a_quiet_briefing() -> None:
    quiet = a_briefing(waiting=(), finished=(), failed=(), to_review=())
    assert plain(shown("briefing", quiet)) == snapshot("""\
# Briefing: all is quiet
Nothing waits for you, and nothing ended.
Spent since 2 Mar 09:00 UTC: 1,234 tokens for $0.5000.
""")


def test_what_was_done_and_what_was_not() -> None:
    said = [
        answer.done_message("Job 3 is cancelled."),
        answer.refused_message("job 3 has ended already: cancelled"),
        answer.refused_message(Refused("decision 5 has no plain no", hint=KEEP).worded(typed_in_chat)),
        answer.misread_message(CommandError("Say which.", "stop 7", "stop #42")),
    ]
    assert "".join(map(plain, said)) == snapshot("""\
Job 3 is cancelled.
Job 3 has ended already: cancelled.
Decision 5 has no plain no; say `/overlord answer 5 keep`.
Say which.
- `/overlord stop 7`
- `/overlord stop #42`
""")


def test_a_long_list_says_how_much_more_there_is() -> None:
    queue = Queue(at=NOW, jobs=(Queued(job=JOB, why="later"),) * 13, running=3, most=3)
    [points] = [part for part in shown("queue", queue).parts if isinstance(part, Table)]
    assert (len(points.rows), points.rows[-1]) == (11, (("and 3 more",),))


def hostile_messages() -> list[View]:
    job = replace(JOB, issue=an_issue(title=HOSTILE), state=JobState.WAITING, reason=HOSTILE)
    decision = a_decision(title=HOSTILE, body=HOSTILE, blocks=HOSTILE)
    asked, view = OpenDecision(decision=decision, space=REPO, issue_number=7), a_view(job=job, session=None)
    at_work = a_view(job=job, session=replace(a_session(JOB), turn=1, last_action=HOSTILE))
    trouble = SpaceError(name=REPO, trouble=HOSTILE)
    finding = a_finding(message=HOSTILE, file=HOSTILE, suggestion=HOSTILE)
    facts = (HistoryLine(at=NOW, sentence=HOSTILE, actor=HOSTILE),)
    return [
        shown("status", a_status(jobs=(view, at_work), waiting=(asked,), poll_errors=(trouble,))),
        shown("queue", Queue(at=NOW, jobs=(Queued(job=job, why=HOSTILE),), running=0, most=1)),
        shown("history", History(at=NOW, jobs=(EndedJob(job=job, ended_at=NOW, cost=COST),))),
        shown("why", a_why(view=view, told=facts, decisions=(decision,), findings=(finding,))),
        shown("decisions", (decision,)),
        shown("briefing", a_briefing(waiting=(asked,), finished=(job,), failed=(job,))),
        answer.refused_message(HOSTILE),
    ]


def spans_of(part: Part) -> list[Span]:
    match part:
        case Paragraph(spans):
            return list(spans)
        case Bullets(items):
            return [one for item in items for one in item]
        case Outline(points):
            return [one for point in points for line in point for one in line]
        case Heading(text) | Note(text):
            return [text]
        case Table(_, rows):
            return [one for row in rows for cell in row for one in cell]
    raise AssertionError(part)


@pytest.mark.parametrize("message", hostile_messages(), ids=lambda message: message.summary[:20])
def test_hostile_words_are_text_on_one_line_and_cut(message: View) -> None:
    spans = [one for part in message.parts for one in spans_of(part)]
    assert any("evil" in span(one) for one in spans), "they are shown"
    for one in spans:
        assert not {"\x1b", "\u202e", "\u200b"} & set(span(one))
        assert isinstance(one, str) or "evil" not in span(one), "theirs is never more than text"
        assert "\n" not in span(one)
        assert len(span(one)) <= 1000


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (200_000, "2 d")]
)
def test_a_length_of_time_is_said_in_one_unit(seconds: float, said: str) -> None:
    assert age_text(seconds) == said
