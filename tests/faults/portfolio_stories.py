"""Where the points are reached at which a goal becomes merged work: a plan, its tasks, what they ask, what they learn, and the day's briefing."""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from overlord.domain.decision import Decision, Subject
from overlord.domain.job import Job, JobState
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.database import open_reader
from overlord.store.portfolio import daily_notes, escalations, tasks
from overlord.store.rows import select
from tests.faults.campaign import Campaign
from tests.faults.invariants import must_hold
from tests.faults.story import Story
from tests.world import CALC, FIX, REPO

Read = TypeVar("Read")
MOST_LOOKS = 12
FILES = {**CALC, "calc.py": CALC["calc.py"].replace(FIX[1], FIX[2])}
"""Its tests pass: nothing is to be mended first."""


def _read(told: Campaign, act: Callable[..., Read], *arguments: Any) -> Read:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return act(connection, *arguments)


async def _worked_off(told: Campaign) -> None:
    """A goal is planned, its tasks are merged, what one of them lacks is provided, and the next morning tells of it."""
    await told.settle()
    title = f"Goal {len(_issues(told)) + 1}"
    _wants(told, title)
    for _ in range(4):
        told.play()
    form = f"Which form has {title} finds knows? One."
    await told.command("knowledge", "add", "convention", form, "--space", REPO, done=(0, 5))
    await told.command("rules", "add", f"Which form has {title}? One.", done=(0, 5))
    await told.command("portfolio-run", done=(0, 5))
    await told.settle()
    initiative = _named(told, title)
    await told.command("initiatives", "set", initiative.ref, "priority high", done=(0, 5))
    await told.command("tasks", "set", f"{initiative.ref}.1", "priority high", done=(0, 5))
    _wants(told, f"{title}\n  As people know it.")
    await told.command("portfolio-run", done=(0, 5))
    await told.settle()
    await _answered(told, Subject.GATE, "approve")
    await _merged(told, f"{title} finds knows", f"{title} found")
    await _merged(told, f"{title} half")
    for ref in _blocked(told, initiative):
        await told.command("tasks", "set", ref, "blocked-by", done=(0, 5))
    await _answered(told, Subject.TASK_MERGED, "one_more")
    await _merged(told, f"{title} half")
    await _answered(told, Subject.ESCALATED, "reply", "It is in the vault.")
    await _merged(told, f"{title} waits")
    told.later(days=1)
    day = told.now().date().isoformat()
    await _until(told, lambda: _is_told(told, day))
    must_hold([*_wrong(told, title), *([] if _is_told(told, day) else [f"{day} is not told of"])], told.log())


def _is_told(told: Campaign, day: str) -> bool:
    """Whether a day has its briefing."""
    return _read(told, daily_notes.of_day, day) is not None


def _wants(told: Campaign, title: str) -> None:
    """A person writes down one goal."""
    path = told.place.home / "spaces" / REPO / "OVERVIEW.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# calc\n\n## Goals\n\n- {title}\n")


def _blocked(told: Campaign, initiative: Initiative) -> Sequence[str]:
    """The tasks that wait for another, and are not over."""
    own: list[Task] = _read(told, tasks.of_initiative, initiative.id)
    waiting = {link.blocked_id for link in _read(told, tasks.links, initiative.id)}
    return [task.ref for task in own if task.id in waiting and not task.has_ended]


def _issues(told: Campaign) -> Sequence[str]:
    return [issue.title for issue in told.world.forge.issues(REPO)]


def _named(told: Campaign, title: str) -> Initiative:
    every: list[Initiative] = _read(told, select, Initiative, "SELECT * FROM initiatives ORDER BY id")
    return next(item for item in every if item.title == title)


def _jobs(told: Campaign, title: str) -> list[Job]:
    """Oldest first."""
    return [job for job in reversed(_read(told, jobs.all_jobs)) if job.issue.title == title]


async def _answered(told: Campaign, subject: Subject, *words: str) -> None:
    """A person answers what is asked; whoever says it again hears that it was said."""

    def asked() -> list[Decision]:
        return [item for item in _read(told, decisions.waiting) if item.subject is subject]

    await _until(told, lambda: bool(asked()))
    waiting = asked()
    wrong = f"{len(waiting)} decisions about {subject} wait: {[item.title for item in waiting]}"
    must_hold([wrong] * (len(waiting) != 1), told.log())
    await told.command("decisions", "answer", str(waiting[0].id), *words, done=(0, 5))
    await told.settle()


async def _until(told: Campaign, holds: Callable[[], bool]) -> None:
    """What follows from rows alone, without a job, may take a daemon another moment."""
    for _ in range(MOST_LOOKS):
        if holds():
            return
        await told.settle()


async def _merged(told: Campaign, *titles: str) -> None:
    """People merge what these tasks have brought."""
    for title in titles:

        def is_in_review(title: str = title) -> bool:
            found = _jobs(told, title)
            return bool(found) and found[-1].state is JobState.IN_REVIEW

        await _until(told, is_in_review)
        *_, job = _jobs(told, title)
        wrong = f"job {job.id} of {title} is {job.state} ({job.reason})"
        must_hold([wrong] * (job.state is not JobState.IN_REVIEW), told.log())
        await told.world.forge.merge(REPO, job.pull_number or 0)
    await told.settle()


def _wrong(told: Campaign, title: str) -> Sequence[str]:
    """What is not as it must be once all of it is merged."""
    initiative = _named(told, title)
    own: list[Task] = _read(told, tasks.of_initiative, initiative.id)
    asked: list[Escalation] = _read(told, escalations.of_initiative, initiative.id)
    found = list[str]()
    if initiative.state is not InitiativeState.DONE:
        found.append(f"{initiative.ref} is {initiative.state} ({initiative.waits})")
    states = {task.subject: task.state for task in own}
    wanted = {f"{title} {name}": TaskState.DONE for name in ("finds knows", "waits", "half", "found")}
    if states != wanted or len(own) != len(wanted):
        found.append(f"its tasks are {[(task.ref, task.subject, task.state) for task in own]}")
    opened = Counter(name for name in _issues(told) if name.startswith(title))
    if opened != Counter([title, *wanted]):
        found.append(f"issues were opened: {opened}")
    questions = Counter(item.question for item in asked)
    if questions != Counter([f"Which form has {title} finds knows?", f"Which key opens {title} waits?"]):
        found.append(f"escalations: {[(item.ref, item.question, item.state) for item in asked]}")
    raised: list[Decision] = _read(told, select, Decision, "SELECT * FROM decisions ORDER BY id")
    about = [
        item for item in raised if item.about == initiative.ref or item.about.startswith(f"{initiative.ref}.")
    ]
    if [item.subject for item in about] != [Subject.TASK_MERGED]:
        found.append(f"asked about it: {[(item.about, item.subject) for item in about]}")
    runs = {name: [job.state for job in _jobs(told, name)] for name in (title, *wanted)}
    if any(len(states) != (2 if name.endswith("half") else 1) for name, states in runs.items()):
        found.append(f"its jobs: {runs}")
    if {state for states in runs.values() for state in states} != {JobState.COMPLETED}:
        found.append(f"its jobs: {runs}")
    return found


WORKED_OFF = Story(
    name="worked-off",
    tell=_worked_off,
    files=FILES,
    settings={"autonomy": "proactive", "portfolio": {"thin_notes": 0, "retrospectives": True}},
)

P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (
        *(P.CYCLE_ASKED, P.CYCLE_RUN, P.INITIATIVE_CHANGED, P.TASK_CHANGED, P.PORTFOLIO_ANSWERED),
        *(P.ISSUE_LINKED, P.ISSUE_STATE_NOTED, P.PLAN_PROPOSED, P.PLAN_DIRECTED, P.COMPLETION_RECORDED),
        *(P.TASK_DISCOVERED, P.ESCALATION_DRAFTED, P.ESCALATION_REVIEWED, P.NOTE_WRITTEN, P.NOTE_CHANGED),
        *(P.NOTES_CHECKED, P.RULE_CHANGED, P.FILES_READ, P.DAY_BRIEFED),
        *(P.REOPEN_ISSUE, P.EDIT_ISSUE, P.ADD_SUB_ISSUE, P.ADD_BLOCKED_BY, P.REMOVE_BLOCKED_BY),
    ),
    WORKED_OFF,
)
