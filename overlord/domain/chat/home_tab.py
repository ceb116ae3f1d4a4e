"""Somebody's Home tab in the chat: what waits for people, what is worked on, what comes next, what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.answer import MOST_SHOWN, Failpoint, caps_of, cut_line, listed, paused, ref_of
from overlord.domain.chat.card import KIND_NAMES, MARKS, Place, ValueOf, answers_of
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import Decision
from overlord.domain.inquiry import Costs, JobView, OpenDecision, Queue, Status, age_text
from overlord.domain.job import JobState
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Code
from overlord.domain.view.view import Buttons, Heading, Note, Paragraph, Part, Rule, View

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
    parts += _jobs(view.status.jobs, place)
    parts += _queue(view.queue, place)
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
    title = cut_line(
        decision.title.removeprefix(f"{asked.space}#{asked.issue_number}: ")
    )  # that stands beside it
    name = Bold(f"{KIND_NAMES[decision.kind]} {decision.id}")
    return [
        Paragraph((name, "  ", where, f"  {title} ({age})")),
        Buttons(tuple(answers_of(decision, values(decision)))),
    ]


def _error_parts(status: Status) -> list[Part]:
    parts = paused(status.pauses)
    parts += [Paragraph((f"⚠️ {cut_line(outage.line(status.at), 500)}",)) for outage in status.outages]
    parts += [Paragraph((cut_line(problem, 500),)) for problem in status.settings]
    for trouble in status.poll_errors:
        what = "cannot be found" if trouble.is_gone else "gives trouble"
        parts.append(Paragraph(("⚠️ ", Bold(trouble.name), f" {what}: {cut_line(trouble.trouble)}")))
    return parts


def _jobs(jobs: Sequence[JobView], place: Place) -> list[Part]:
    at_work = [_job(view, place) for view in jobs if view.job.state in _AT_WORK]
    others = [_job(view, place) for view in jobs if view.job.state not in {*_AT_WORK, JobState.QUEUED}]
    parts: list[Part] = [Heading(f"At work ({len(at_work)})"), listed(at_work, "No Minion is at work.")]
    return [*parts, Heading(f"With people ({len(others)})"), listed(others)] if others else parts


def _job(view: JobView, place: Place) -> Failpoint:
    job = view.job
    doing = f", {cut_line(view.doing)}" if view.doing else ""
    title = f" {cut_line(job.issue.title, 60)}: "
    return (f"{MARKS[job.state]} ", ref_of(job, place.web), title, Bold(state_in_words(job.state)), doing)


def _queue(queue: Queue, place: Place) -> list[Part]:
    items: list[Failpoint] = [
        (
            "⚡ " if item.job.is_urgent else "",
            ref_of(item.job, place.web),
            f" {cut_line(item.job.issue.title, 60)}: {cut_line(item.why)}",
        )
        for item in queue.jobs
    ]
    taken = f"{queue.running} of {count(queue.most, 'session')} at once are taken."
    return [Heading(f"Queue ({len(items)})"), listed(items, "Nothing is queued."), Note(taken)]


def _spent(costs: Costs) -> list[Part]:
    today = costs.days[0].cost
    lines: list[Failpoint] = [
        ("Today: ", Bold(cost_text(today))),
        (f"The last {len(costs.days)} days: ", Bold(cost_text(costs.total))),
    ]
    return [listed(lines), *caps_of(costs.caps), Note("Days are those of UTC.")]
