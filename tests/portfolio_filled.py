"""A portfolio as it is after some weeks: three repositories, twelve initiatives in every state, sixty tasks, escalations, notes, rules.

Written by the store's own functions; `fill` is for one transaction.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from overlord.domain.decision import Audience, DecisionKind, Subject, Verb
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.rule import Rule
from overlord.domain.portfolio.escalation import (
    Escalation,
    EscalationKind,
    EscalationState,
    EscalationType,
    SuggestedAnswer,
)
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import AddressedCriterion, Task, TaskState
from overlord.store import decisions, jobs
from overlord.store.knowledge import notes, rules
from overlord.store.portfolio import cycles, escalations, initiatives, tasks
from overlord.store.rows import insert
from tests.records import HEAD, NOW, REPO, a_decision
from tests.stored import claim

WEB, DOCS = "acme/web-frontend", "acme/docs"
SPACES = (REPO, WEB, DOCS)
S, P = InitiativeState, Priority

PLAN = """# Faster start

## Present state

The program loads **every** module at its start: `python -X importtime` says 1.9 s, of which 1.2 s are three libraries
that most commands never use.

## Approach

1. Measure each module, and keep the numbers in `bench/start.py`.
2. Load the three libraries where they are used.
3. Fail the build where a start takes more than 0.5 s.

- It changes no behaviour.
- [The measurements](https://example.com/start) are in the issue.

```python
def lazily(name):
    return importlib.import_module(name)
```

| part | now | goal |
|---|---|---|
| start | 1.9 s | 0.5 s |
"""


@dataclass(frozen=True, kw_only=True)
class Made:
    """One initiative of the sample, as a few words."""

    space: str
    title: str
    state: InitiativeState
    tasks: str
    """A letter for each task: done, working, pending, proposed (`?`), cancelled (`x`)."""
    priority: Priority = P.NORMAL
    waits: str = ""
    usd: int | None = None


SAMPLE = (
    Made(space=REPO, title="The program starts in half a second", state=S.ACTIVE, tasks="dddwpppp", priority=P.HIGH, usd=20),
    Made(space=WEB, title="Everybody can use the shop with a keyboard alone", state=S.ACTIVE, tasks="ddddwwppppp", priority=P.URGENT),
    Made(space=DOCS, title="Each command has a page with an example", state=S.ACTIVE, tasks="dddddwp", waits="the task i3.6 is in review"),
    Made(space=REPO, title="Sums of money are exact to the cent", state=S.PLANNING, tasks="?????", waits=""),
    Made(space=WEB, title="Pictures are loaded when they are seen", state=S.PLANNING, tasks=""),
    Made(space=DOCS, title="The glossary has every word of the interface", state=S.QUEUED, tasks="", waits="two initiatives of acme/docs are open"),
    Made(space=REPO, title="Tests that fail at base: test_rounding, test_currency", state=S.QUEUED, tasks="", priority=P.URGENT),
    Made(space=WEB, title="The page remembers its theme", state=S.PROPOSED, tasks="", priority=P.LOW),
    Made(space=DOCS, title="What is known of acme/docs is thin: look for conventions", state=S.PROPOSED, tasks=""),
    Made(space=WEB, title="Payments with a second provider", state=S.PAUSED, tasks="ddpppx", waits="paused by alice: the contract is not signed"),
    Made(space=REPO, title="Python 3.13 is supported", state=S.DONE, tasks="dddddddddddd", usd=10),
    Made(space=DOCS, title="Translate everything by machine", state=S.CANCELLED, tasks="dxxxxxxxxxx"),
)  # fmt: skip
STATES = {
    "d": TaskState.DONE,
    "w": TaskState.IN_PROGRESS,
    "p": TaskState.PENDING,
    "?": TaskState.PROPOSED,
    "x": TaskState.CANCELLED,
}
SUBJECTS = (
    "Measure how long each module takes to load, and keep the numbers",
    "Load the YAML reader where it is used",
    "Load the HTTP client where it is used",
    "Load the templates where they are used",
    "Fail the build where a start takes longer than half a second",
    "Say in the README how a start is measured",
    "Take out the plug-ins that nobody has used for two years",
    "Compare the start before and after on three machines",
    "Name the owner of each module",
    "Write down what a start may cost, as a decision",
    "Look at the numbers again after a week",
)
CRITERIA = (
    "`python -X importtime -m shop` names no module above 50 ms",
    "The numbers are in bench/start.py",
    "All tests pass",
)


def fill(connection: sqlite3.Connection, sample: Sequence[Made] = SAMPLE) -> None:
    """All of it, in one transaction."""
    for index, made in enumerate(sample):
        _initiative(connection, index, made, NOW - timedelta(days=len(sample) - index))
    _escalations(connection)
    _notes(connection)
    _files(connection)
    cycle = cycles.ask(connection, trigger="schedule", actor="overlord", at=NOW - timedelta(hours=2))
    summary = "assigned i1.4 and i2.5; planned i4; proposed i8 and i9"
    cycles.ran(
        connection, cycle.id, fingerprint="f", acts=5, summary=summary, at=NOW - timedelta(minutes=118)
    )


def initiative_of(made: Made, index: int, at: datetime) -> Initiative:
    """The record that a few words stand for."""
    return Initiative(
        id=0,
        space=made.space,
        slug="",
        title=made.title,
        goal=f"{made.title}. People said so more than once, and it is the first thing that new users meet.",
        source=InitiativeSource.OVERVIEW if index % 2 else InitiativeSource.PERSON,
        key=f"sample {index}",
        state=S.PROPOSED if made.state is S.PROPOSED else S.QUEUED,
        priority=made.priority,
        actor="cli:alice",
        created_at=at,
        updated_at=at,
        nusd_budget=made.usd * 10**9 if made.usd else None,
        waits=made.waits,
    )


def _initiative(connection: sqlite3.Connection, index: int, made: Made, at: datetime) -> None:
    item = initiatives.add(connection, initiative_of(made, index, at))
    assert item is not None
    issue = 100 + index
    later = at + timedelta(hours=1)
    if made.state not in (S.PROPOSED, S.QUEUED):
        planning = _worked(connection, made.space, issue, f"Plan: {made.title}", nusd=180_000_000)
        initiatives.change(
            connection, item.id, at=later, state=S.PLANNING, issue_number=issue, job_id=planning.id
        )
        if made.state is not S.PLANNING:
            told: dict[str, Json] = {"initiative": item.ref, "space": item.space, "tasks": len(made.tasks)}
            jobs.move(connection, planning.id, EventName.PLAN_ACCEPTED, at=later, data=told)
    rows = [_task(connection, item, kind, number, later) for number, kind in enumerate(made.tasks, 1)]
    for number, task in enumerate(rows):
        blockers = [rows[0]] if 0 < number < 4 else rows[max(0, number - 2) : number] if number >= 4 else []
        if index == 1 and number >= 8:
            blockers = []
        tasks.link(connection, task, blockers, at=later)
    if made.state not in (S.PROPOSED, S.QUEUED, S.PLANNING):
        initiatives.change(connection, item.id, at=later, state=S.ACTIVE, plan_digest="d", actor="slack:U1")
        initiatives.change(connection, item.id, at=later + timedelta(hours=2), state=made.state)
    if index == 3:
        _ask(connection, item.ref, made.space, f"Plan ready: {len(rows)} tasks for {item.ref}")


def _task(connection: sqlite3.Connection, owner: Initiative, kind: str, number: int, at: datetime) -> Task:
    state = STATES[kind]
    made = tasks.add(
        connection,
        Task(
            id=0,
            initiative_id=owner.id,
            number=0,
            space=owner.space,
            subject=SUBJECTS[(number - 1) % len(SUBJECTS)],
            description="Look at what is loaded first. The libraries stay as they are.",
            acceptance_criteria=CRITERIA,
            state=TaskState.PROPOSED if state is TaskState.PROPOSED else TaskState.PENDING,
            priority=P.HIGH if number == 1 else P.NORMAL,
            created_by=f"session:j{owner.id}-work-1",
            created_at=at,
            updated_at=at,
            labels=("start", "speed") if number % 2 else (),
            paths=("src/**",),
        ),
    )
    if state in (TaskState.DONE, TaskState.IN_PROGRESS):
        issue = 1000 + owner.id * 50 + number
        is_done = state is TaskState.DONE
        job = _worked(connection, owner.space, issue, made.subject, nusd=420_000_000 + number * 7_000_000)
        at += timedelta(hours=1)
        tasks.change(
            connection, made.id, at=at, state=TaskState.IN_PROGRESS, issue_number=issue, job_id=job.id
        )
        if is_done:
            _end(connection, job, tasks.get(connection, made.id))
            addressed = tuple(
                AddressedCriterion(number=place, evidence=f"tests/test_start.py::test_{place}")
                for place in range(1, len(CRITERIA) + 1)
            )
            tasks.change(
                connection, made.id, at=at, addressed=addressed, completion_notes="Each is loaded lazily."
            )
            tasks.change(connection, made.id, at=at + timedelta(hours=2), state=TaskState.DONE)
    elif state is TaskState.CANCELLED:
        tasks.change(connection, made.id, at=at, state=state, reason="nobody needs it")
    return tasks.get(connection, made.id)


def _worked(connection: sqlite3.Connection, space: str, issue: int, title: str, *, nusd: int) -> Job:
    """A job, and what it cost."""
    job = claim(connection, issue, space, title=title)
    spent = {
        "job_id": job.id,
        "space": space,
        "day": NOW.date().isoformat(),
        "at": NOW,
        "model": "m",
        "reserved": 0,
        "settled": 1,
        "status": 200,
        "prompt": 90_000,
        "completion": 4_000,
        "cost_nusd": nusd,
    }
    insert(connection, "exchanges", spent)
    return job


def _end(connection: sqlite3.Connection, job: Job, task: Task) -> None:
    """Its pull request is merged."""
    at_work: dict[str, Json] = {"session": f"j{job.id}-work-1", "head": HEAD}
    for name in (EventName.SESSION_STARTED, EventName.WORK_SUBMITTED):
        jobs.move(connection, job.id, name, at=NOW, data=at_work, head_sha=HEAD)
    jobs.repair(connection, job.id, pull_number=(task.issue_number or 0) + 1)
    jobs.move(
        connection,
        job.id,
        EventName.MERGED,
        at=NOW,
        data={"pull": (task.issue_number or 0) + 1, "by": "alice"},
    )


def _ask(connection: sqlite3.Connection, about: str, space: str, title: str, *, body: str = "") -> int:
    asked = a_decision(
        id=0,
        job_id=None,
        kind=DecisionKind.APPROVAL,
        subject=Subject.ESCALATED,
        title=title,
        body=body or "> What it rests on.",
        verbs=(Verb.REPLY,),
        space=space,
        about=about,
        blocks=about,
        audience=Audience.WRITER,
    )
    return decisions.raise_decision(connection, asked).id


def _escalations(connection: sqlite3.Connection) -> None:
    common = Escalation(
        id=0,
        type=EscalationType.DECISION,
        kind=EscalationKind.TRADE_OFF,
        space=REPO,
        question="May a start take 0.6 s on the oldest machine, if it takes 0.4 s on all others?",
        context="The oldest machine has a slow disk.",
        suggested=(
            SuggestedAnswer(label="Yes, 0.6 s there", description="one limit for each machine"),
            SuggestedAnswer(label="No, 0.5 s everywhere"),
        ),
        escalated_by="session:j4-work-1",
        path=("session", "orchestrator"),
        priority=P.HIGH,
        state=EscalationState.DRAFT,
        created_at=NOW - timedelta(hours=3),
        initiative_id=1,
        task_id=4,
    )
    made = escalations.draft(connection, common)
    number = _ask(connection, made.ref, REPO, made.question)
    escalations.raise_to_person(connection, made.id, decision_id=number, path=("session", "person"), at=NOW)
    done = replace(common, question="Which YAML library may be used?", kind=EscalationKind.DEPENDENCY)
    answered = escalations.draft(connection, done)
    escalations.resolve(connection, answered.id, "The one that is there", by="overlord", cites="r1", at=NOW)
    held = replace(
        common,
        type=EscalationType.BLOCKER,
        kind=EscalationKind.CREDENTIALS,
        space=WEB,
        question="The second provider's test account is missing: who has it?",
        initiative_id=10,
        task_id=None,
        blocks_initiative=True,
    )
    made = escalations.draft(connection, held)
    number = _ask(connection, made.ref, WEB, made.question)
    escalations.raise_to_person(connection, made.id, decision_id=number, path=("session", "person"), at=NOW)


def _notes(connection: sqlite3.Connection) -> None:
    texts = (
        (REPO, NoteKind.CONVENTION, "Money is in whole cents, never in floats.", NoteState.ACTIVE),
        ("", NoteKind.PREFERENCE, "Small pull requests: one thing each.", NoteState.ACTIVE),
        (
            WEB,
            NoteKind.PATTERN,
            "Components live in `src/parts`, each with a story beside it.",
            NoteState.ACTIVE,
        ),
        (REPO, NoteKind.DECISION, "A start may take 0.5 s: measured in March.", NoteState.DRAFT),
        (DOCS, NoteKind.CONVENTION, "Every page begins with what it is for.", NoteState.DRAFT),
        (REPO, NoteKind.PATTERN, "Plug-ins register themselves at import.", NoteState.WITHDRAWN),
    )
    for space, kind, text, state in texts:
        note = Note(
            id=0,
            space=space,
            kind=kind,
            text=text,
            question="How is money kept?" if kind is NoteKind.CONVENTION else "",
            state=NoteState.ACTIVE if state is NoteState.WITHDRAWN else state,
            source=NoteSource(job_id=1, session_id="j1-work-1", evidence="finding of evaluation 3"),
            actor="overlord",
            created_at=NOW,
            updated_at=NOW,
        )
        made = notes.add(connection, note)
        if state is NoteState.WITHDRAWN:
            reason = "its check does not hold any more"
            notes.change(connection, made.id, at=NOW, actor="overlord", state=state, reason=reason)
    notes.contradict(
        connection, 3, "they live in src/components now", by="session:j5-work-1", at=NOW, job_id=None
    )
    rules.add(
        connection,
        Rule(
            id=0,
            space=REPO,
            question="Which YAML library may be used?",
            words=("yaml", "library"),
            answer="The one that is there",
            actor="slack:U1",
            created_at=NOW,
            used=3,
            used_at=NOW,
        ),
    )


def _files(connection: sqlite3.Connection) -> None:
    files = (
        (f"spaces/{REPO}/plans/the-program-starts-in-half-a-second/plan.md", PLAN, ""),
        (
            f"spaces/{DOCS}/OVERVIEW.md",
            "",
            "the goals end in a comment that is never closed (line 14): close it",
        ),
    )
    for path, text, trouble in files:
        connection.execute(
            "INSERT INTO portfolio_files (path, digest, text, trouble, read_at) VALUES (?, 'd', ?, ?, ?)",
            (path, text, trouble, NOW.isoformat()),
        )
    job = connection.execute("SELECT job_id FROM initiatives WHERE id = 4").fetchone()
    connection.execute(
        "INSERT INTO plan_drafts (job_id, initiative_id, text, problems, at) VALUES (?, 4, ?, '[]', ?)",
        (job["job_id"], PLAN.replace("Faster start", "Exact sums"), NOW.isoformat()),
    )
