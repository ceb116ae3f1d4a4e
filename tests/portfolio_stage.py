"""A stage for cycles: the real store and settings over one database, people, and a forge that opens and closes what it is told."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from minion.protocol import Issue
from overlord.domain.decision import Decision, Verb
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import AddressedCriterion, Task, TaskState
from overlord.domain.repositories.forge import IssueState, StateReason
from overlord.engine.portfolio import cycle, issue_states, opened_issue
from overlord.settings.load import Settings, load
from overlord.store import decisions, jobs, ledger
from overlord.store.bootstrap import issue_requests
from overlord.store.portfolio import cycles, initiatives, issue_work, tasks
from overlord.store.schema.migrations import migrate
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs.commands import work_on
from tests.portfolio_views import a_task, an_initiative
from tests.records import HEAD, NOW, REPO, contract

TEXT = """
repositories: [acme/calc]
portfolio: {schedule: off}
autonomy: proactive
"""


def settings_of(home: Path, text: str = TEXT) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "overlord.yaml").write_text(text)
    return load({"OVERLORD_HOME": str(home)})


@dataclass
class PortfolioStage:
    """One database, and whoever acts on it."""

    connection: sqlite3.Connection
    settings: Settings
    now: datetime = NOW
    issues: dict[int, bool] = field(default_factory=dict)
    """At the forge: by number, whether it is open."""

    # The daemon

    def cycle(self) -> cycle.Ran:
        """One, in one transaction, if it is due."""
        self.now += timedelta(minutes=1)
        if not cycle.is_due(self.connection, self.settings, self.now):
            return cycle.Ran()
        return cycle.run(self.connection, self.settings, self.now)

    def opens(self) -> None:
        """Issues that are asked for are opened, and what is asked to be worked on is taken up."""
        for asked in issue_requests.unopened(self.connection):
            number = max(self.issues, default=100) + 1
            self.issues[number] = True
            issue_requests.opened(self.connection, asked.id, issue_number=number, at=self.now)
            if opened_issue.note(self.connection, asked, number, at=self.now):
                wish = work_on(self.connection, asked.space, number, actor=asked.actor, at=self.now)
                issue_requests.wished(self.connection, asked.id, wish.id)
        self.claims()

    def claims(self) -> None:
        for wish in work_requests.waiting(self.connection):
            if jobs.live_for(self.connection, wish.space, wish.number) is not None:
                continue
            if not self.issues[wish.number]:
                self.refuse(wish.id, f"#{wish.number} is closed; reopen it first.")
                continue
            job = self.labelled(wish.number, wish.space)
            state = WorkRequestState.GRANTED
            work_requests.answer(self.connection, wish.id, state, "", at=self.now, job_id=job.id)

    def refuse(self, wish_id: int, why: str) -> None:
        wish = work_requests.get(self.connection, wish_id)
        work_requests.answer(self.connection, wish_id, WorkRequestState.REFUSED, why, at=self.now)
        cycles.wake(self.connection, wish.space, wish.number, at=self.now)

    def reopens(self) -> None:
        """What is to be opened again at the forge is."""
        for row in issue_work.to_reopen(self.connection):
            task = tasks.change(self.connection, row, at=self.now, is_issue_closed=False)
            assert task.issue_number is not None
            self.issues[task.issue_number] = True
            work_on(self.connection, task.space, task.issue_number, actor="overlord", at=self.now)
        self.claims()

    def closes(self) -> list[str]:
        """What is to be closed at the forge is."""
        found = list[str]()
        for row in issue_work.tasks_to_close(self.connection):
            task = tasks.change(self.connection, row, at=self.now, is_issue_closed=True)
            self.issues[task.issue_number or 0] = False
            found.append(task.ref)
        for row in issue_work.initiatives_to_close(self.connection):
            initiative = initiatives.change(self.connection, row, at=self.now, is_issue_closed=True)
            self.issues[initiative.issue_number or 0] = False
            found.append(initiative.ref)
        return found

    def settle(self) -> None:
        """Until nothing moves by itself."""
        for _ in range(20):
            before = ledger.last_number(self.connection)
            self.cycle()
            self.opens()
            self.reopens()
            self.closes()
            if ledger.last_number(self.connection) == before and not self.cycle().acts:
                return
        raise AssertionError("it never comes to rest")

    # People

    def initiative(self, **given: Any) -> Initiative:
        common = {"slug": "", "key": f"key {len(initiatives.every(self.connection))}"}
        wanted = given.get("state", InitiativeState.ACTIVE)
        made = initiatives.add(
            self.connection, an_initiative(0, **{**common, **given, "state": InitiativeState.QUEUED})
        )
        assert made is not None
        return initiatives.change(self.connection, made.id, at=self.now, state=wanted)

    def task(self, initiative: Initiative, **given: Any) -> Task:
        common = {"initiative_id": initiative.id, "space": initiative.space}
        return tasks.add(self.connection, a_task(0, **{**common, **given}))

    def state(self, task: Task) -> TaskState:
        return self.again(task).state

    def again(self, task: Task) -> Task:
        return tasks.get(self.connection, task.id)

    def asked(self) -> list[Decision]:
        """What waits for people of the portfolio."""
        return [item for item in decisions.waiting(self.connection) if item.about]

    def answers(self, verb: Verb, about: str) -> None:
        [decision] = [item for item in self.asked() if item.about == about]
        decisions.answer(
            self.connection,
            decision.id,
            digest=decision.digest,
            verb=verb,
            text="",
            actor="cli:alice",
            at=self.now,
        )

    # Jobs and the forge

    def labelled(self, number: int, space: str = REPO) -> Job:
        """Work on an issue begins, whoever asked for it."""
        issue = Issue(number=number, title="x", body="", author="alice")
        job = jobs.claim(
            self.connection, space=space, issue=issue, base_branch="main", contract=contract(), at=self.now
        )
        assert job is not None
        return job

    def job(self, task: Task) -> Job:
        found = jobs.live_for(self.connection, task.space, self.again(task).issue_number or 0)
        assert found is not None, f"nobody works on {task.ref}"
        return found

    def merges(self, task: Task, *, is_told: bool = True) -> None:
        """Its job's pull request is merged, which closes the issue; with `is_told` its session completed it as it should."""
        job, at, number = self.job(task), self.now, self.again(task).issue_number
        if is_told:
            addressed = tuple(
                AddressedCriterion(number=place, evidence="tests")
                for place in range(1, len(task.acceptance_criteria) + 1)
            )
            tasks.change(self.connection, task.id, at=at, addressed=addressed, completion_notes="Done.")
        self.delivered(job)
        jobs.move(self.connection, job.id, EventName.MERGED, at=at, data={"pull": 3, "by": "alice"})
        self.closed(number or 0, "completed", task.space)

    def delivered(self, job: Job) -> None:
        for name in (EventName.SESSION_STARTED, EventName.WORK_SUBMITTED):
            jobs.move(self.connection, job.id, name, at=self.now, data={}, head_sha=HEAD)
        jobs.repair(self.connection, job.id, pull_number=job.issue.number + 1000)

    def ends(self, task: Task, event: EventName = EventName.STOPPED) -> None:
        """Its job ends without a merge."""
        jobs.move(self.connection, self.job(task).id, event, at=self.now, data={"reason": "x"})

    def waits(self, task: Task) -> None:
        """Its job waits for a person."""
        job = self.job(task)
        if job.state is JobState.QUEUED:
            jobs.move(self.connection, job.id, EventName.DISPATCH_REFUSED, at=self.now, data={"reason": "x"})

    def closed(self, number: int, reason: StateReason, space: str = REPO) -> None:
        self._seen(number, is_open=False, reason=reason, space=space)

    def reopened(self, number: int, space: str = REPO) -> None:
        self._seen(number, is_open=True, reason=None, space=space)

    def _seen(self, number: int, *, is_open: bool, reason: StateReason | None, space: str) -> None:
        """Somebody changed an issue at the forge, and a poll saw it."""
        self.issues[number] = is_open
        live = jobs.live_for(self.connection, space, number)
        if live is not None and not is_open:
            jobs.move(self.connection, live.id, EventName.ISSUE_CLOSED, at=self.now, data={"reason": "x"})
        issue = Issue(number=number, title="x", body="", author="alice")
        state = IssueState(
            issue=issue, open=is_open, created_at=NOW, updated_at=self.now, state_reason=reason
        )
        issue_states.note(self.connection, space, state, at=self.now)


@contextmanager
def made_portfolio(home: Path, text: str = TEXT) -> Iterator[PortfolioStage]:
    settings = settings_of(home, text)
    with _database() as connection:
        yield PortfolioStage(connection=connection, settings=settings)


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        migrate(connection)
        yield connection
    finally:
        connection.close()


def rows(connection: sqlite3.Connection) -> Mapping[str, list[tuple[object, ...]]]:
    """Everything that is written down, by table."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    names = [row[0] for row in connection.execute(query)]
    return {
        name: sorted((tuple(row) for row in connection.execute(f'SELECT * FROM "{name}"')), key=repr)
        for name in names
        if not name.startswith("note_texts") and "fts" not in name
    }
