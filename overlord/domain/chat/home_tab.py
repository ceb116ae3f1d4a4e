"""Somebody's Home tab in the chat: what waits for people, what is worked on, what comes next, what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.card import KIND_NAMES, OPEN, Place, ValueOf, answers_of
from overlord.domain.chat.lines import Line, caps_of, issue_of, listed, paused, words
from overlord.domain.conversation.pull_card import state_of
from overlord.domain.decision import Decision
from overlord.domain.inquiry import Costs, JobView, OpenDecision, Queue, Status, age_text
from overlord.domain.job import JobState
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Code, Link, Mark
from overlord.domain.view.view import Bullets, Button, Buttons, Heading, Note, Paragraph, Part, Rule, View

MOST_SHOWN = 10
"""Decisions; how many more there are is said."""
_TITLE = 80
_AT_WORK = frozenset({JobState.RUNNING, JobState.EVALUATING})

ValuesOf = Callable[[Decision], ValueOf]
"""The buttons' values for a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """All that the tab shows, from one look at the database."""

    status: Status
    queue: Queue
    costs: Costs
    """Of the last seven days, today first."""
    proposals: int
    """How many wait for a person."""
    portfolio: tuple["HomeInitiative", ...] = ()
    """The initiatives that go on, those that are worked on first."""
    page: str = ""
    """Where people find the operator's page; empty where nobody said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeInitiative:
    """An initiative, in a line."""

    ref: str
    space: str
    title: str
    state: str
    tasks_done: int
    tasks_all: int
    waits: str


def home_message(view: HomeView, place: Place, values: ValuesOf) -> View:
    """The tab of somebody who may look; whether their answers count is seen when they give one."""
    waiting = view.status.waiting
    text = count(len(waiting), "decision") + " for you" if waiting else "Nothing waits for you"
    parts: list[Part] = [Heading(text)]
    for asked in waiting[:MOST_SHOWN]:
        parts += _decision_parts(asked, view, place, values)
    if (more := len(waiting) - MOST_SHOWN) > 0:
        parts.append(Note(f"{more} more: /overlord decisions"))
    if view.proposals:
        parts.append(Note(f"{count(view.proposals, 'proposal')} to decide: /overlord proposals"))
    parts += [Rule(), *_error_parts(view.status)]
    parts += _portfolio(view)
    parts += _jobs(view.status.jobs)
    parts += _queue(view.queue)
    parts += [Rule(), Heading("Spent"), *_spent(view.costs)]
    return View(summary=text, parts=tuple(parts))


def refused_home(why: str) -> View:
    """The tab of somebody who is not shown anything."""
    return View(summary=why, parts=(Paragraph((why,)),))


def _decision_parts(asked: OpenDecision, view: HomeView, place: Place, values: ValuesOf) -> list[Part]:
    decision = asked.decision
    where = (
        place.issue_at(asked.space, asked.issue_number)
        if asked.issue_number is not None
        else Code(asked.space or "everything")
    )
    age = age_text((view.status.at - decision.created_at).total_seconds())
    title = words(
        decision.title.removeprefix(f"{asked.space}#{asked.issue_number}: ")
    )  # that stands beside it
    name = Bold(f"{KIND_NAMES[decision.kind]} {decision.id}")
    return [
        Paragraph((name, "  ", where, f"  {title} ({age})")),
        Buttons(tuple(answers_of(decision, values(decision)))),
    ]


def _error_parts(status: Status) -> list[Part]:
    parts = paused(status.pauses)
    parts += [Paragraph((f"⚠️ {words(outage.line(status.at), 500)}",)) for outage in status.outages]
    parts += [Paragraph((words(problem, 500),)) for problem in status.settings]
    for trouble in status.poll_errors:
        what = "cannot be found" if trouble.is_gone else "gives trouble"
        parts.append(Paragraph(("⚠️ ", Bold(trouble.name), f" {what}: {words(trouble.trouble)}")))
    return parts


def _portfolio(view: HomeView) -> list[Part]:
    """The initiatives, and the way to the board; nothing where there is no initiative."""
    if not view.portfolio:
        return []
    lines = tuple(_initiative(item, view.page) for item in view.portfolio[:MOST_SHOWN])
    parts: list[Part] = [Heading(f"Portfolio ({len(view.portfolio)})"), Bullets(lines)]
    if (more := len(view.portfolio) - MOST_SHOWN) > 0:
        parts.append(Note(f"{more} more: /overlord portfolio"))
    if view.page:
        buttons = (
            Button(action=OPEN, label="Open the board", url=f"{view.page}/portfolio"),
            Button(action=OPEN, label="What is known", url=f"{view.page}/knowledge"),
        )
        parts.append(Buttons(buttons))
    return parts


def _initiative(item: HomeInitiative, page: str) -> Line:
    name = Link(f"{page}/initiatives/{item.ref}", item.ref) if page else Bold(item.ref)
    tasks = f", {item.tasks_done} of {count(item.tasks_all, 'task')} done" if item.tasks_all else ""
    waits = f"; waits: {words(item.waits)}" if item.waits else ""
    return (name, "  ", Code(item.space), f" {words(item.title, _TITLE)}: {item.state}{tasks}{waits}")


def _jobs(jobs: Sequence[JobView]) -> list[Part]:
    at_work = tuple(_job(view) for view in jobs if view.job.state in _AT_WORK)
    others = tuple(_job(view) for view in jobs if view.job.state not in {*_AT_WORK, JobState.QUEUED})
    minions = listed(Bullets(at_work), "No Minion is at work.")
    parts: list[Part] = [Heading(f"At work ({len(at_work)})"), minions]
    return [*parts, Heading(f"With people ({len(others)})"), Bullets(others)] if others else parts


def _job(view: JobView) -> Line:
    doing = f", {words(view.doing)}" if view.doing else ""
    return (*issue_of(view.job), ": ", Bold(state_of(view.job)), doing)


def _queue(queue: Queue) -> list[Part]:
    items = tuple(
        (*((Mark("⚡"),) if item.job.is_urgent else ()), *issue_of(item.job), f": {words(item.why)}")
        for item in queue.jobs
    )
    taken = f"{queue.running} of {count(queue.most, 'session')} at once are taken."
    return [Heading(f"Queue ({len(items)})"), listed(Bullets(items), "Nothing is queued."), Note(taken)]


def _spent(costs: Costs) -> list[Part]:
    today = costs.days[0].cost
    lines: tuple[Line, ...] = (
        ("Today: ", Bold(cost_text(today))),
        (f"The last {len(costs.days)} days: ", Bold(cost_text(costs.total))),
    )
    return [Bullets(lines), *caps_of(costs.caps), Note("Days are those of UTC.")]
