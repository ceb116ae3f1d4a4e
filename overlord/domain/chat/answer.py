"""Answers in a chat: what people asked to see, and what became of what they said. Short; the details are a question away.

`web` is where repositories are shown to people, as https://github.com; without it names are no links.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import Unit, cost_text, usd_text
from overlord.domain.chat.answer_draft import drafts_list
from overlord.domain.chat.briefing import SECTIONS, Briefing, suggestion
from overlord.domain.chat.card import MARKS, Place, cut
from overlord.domain.chat.hint import in_chat
from overlord.domain.chat.proposal_card import type_in_words
from overlord.domain.conversation.argument import CommandError
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import Decision
from overlord.domain.evaluation import describe
from overlord.domain.inquiry import (
    Cap,
    Costs,
    History,
    JobCost,
    ManagedRepository,
    OpenDecision,
    Queue,
    Share,
    SpaceValue,
    Status,
    Why,
    age_text,
)
from overlord.domain.job import Job
from overlord.domain.pause import Pause
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Code, Link, Moment, Span
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View

MOST_SHOWN = 10
"""Of anything in one list; how many more there are is said."""
MOST_CHARS = 140
"""Of somebody else's words in one line."""

Failpoint = tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How a command is typed, and what it does."""

    form: str
    means: str


def help_message(usages: Sequence[Usage]) -> View:
    """Every command, and how it is typed."""
    items = [(Code(f"/overlord {usage.form}"), f"  {usage.means.replace('`', '')}") for usage in usages]
    note = "Where a #42 stands, owner/repo#42, the issue's address and a job's number do too. A mention takes the same words."
    return _composed("What I understand", Bullets(tuple(items)), Note(note))


def misread_message(error: CommandError) -> View:
    """What to type instead."""
    ways = Bullets(tuple((Code(f"/overlord {example}"),) for example in error.examples))
    return _composed(str(error), ways, has_heading=False)


def refused_message(why: str) -> View:
    """What cannot be done, and why: an error's sentence."""
    text = cut_line(why, 1000).rstrip(".")
    return _composed(f"{text[:1].upper()}{text[1:]}.", has_heading=False)


def done_message(text: str) -> View:
    """What was done, in a sentence."""
    return _composed(text, has_heading=False)


def status_message(status: Status, *, web: str = "") -> View:
    """Open jobs and what they do, what waits for people, what gives trouble."""
    jobs = [
        (
            f"{MARKS[view.job.state]} ",
            ref_of(view.job, web),
            f" {cut_line(view.job.issue.title, 60)}: ",
            Bold(state_in_words(view.job.state)),
            f"{f', {cut_line(view.doing)}' if view.doing else ''} ({age_text(_since(view.job.created_at, status.at))})",
        )
        for view in status.jobs
    ]
    parts: list[Part] = [listed(jobs, "No open jobs. Label an issue, or /overlord work on #42.")]
    parts += paused(status.pauses)
    parts += [Paragraph((f"⚠️ {cut_line(outage.line(status.at), 500)}",)) for outage in status.outages]
    parts += [Paragraph((cut_line(problem, 500),)) for problem in status.settings]
    parts += [
        Paragraph(
            (
                Bold(trouble.name),
                f" {'cannot be found' if trouble.is_gone else 'gives trouble'}: {cut_line(trouble.trouble)}",
            )
        )
        for trouble in status.poll_errors
    ]
    if status.waiting:
        parts += [
            Heading(f"Waiting for you: {len(status.waiting)}"),
            listed(_decisions(status.waiting, status.at)),
        ]
    parts.append(Note(f"Today: {cost_text(status.today)}."))
    return _composed(f"{count(len(status.jobs), 'open job')}, {_waits(status.waiting)}", *parts)


def managed_repositories_message(found: Sequence[ManagedRepository]) -> View:
    """The repositories managed by Overlord."""
    items = [
        (
            Bold(item.name),
            f": {cut_line(item.state)} ({item.running} of {item.most} sessions, by {cut_line(item.by)})",
        )
        for item in found
    ]
    shown = listed(
        items, "No repository is in my care. Whoever runs me adds one: overlord space add owner/repo."
    )
    return _composed(f"{len(found)} repositories in my care", shown)


def space_message(name: str, values: Sequence[SpaceValue]) -> View:
    """What one repository is worked on by: what is said for it or for all, and of the rest only that it is the default."""
    lines = [item for item in values if item.source != "default"]
    rest = ", ".join(item.key for item in values if item.source == "default")
    items = [(Bold(item.key), f": {cut_line(item.value)} ({cut_line(item.source)})") for item in lines]
    shown = listed(items, "Nothing is said of it.")
    return _composed(f"What {name} is worked on by", shown, Note(cut_line(f"As by default: {rest}.", 2500)))


def queue_message(queue: Queue, *, web: str = "") -> View:
    """What is begun next, and what it waits for."""
    items = [
        (
            "⚡ " if item.job.is_urgent else "",
            ref_of(item.job, web),
            f" {cut_line(item.job.issue.title, 60)}: {cut_line(item.why)}",
        )
        for item in queue.jobs
    ]
    return _composed(
        f"{count(len(queue.jobs), 'job')} in the queue",
        listed(items, "Nothing is queued."),
        *paused(queue.pauses),
        Note(f"{queue.running} of {count(queue.most, 'session')} at once are taken."),
    )


def history_message(history: History, *, web: str = "") -> View:
    """What ended lately."""
    items = [
        (
            f"{MARKS[item.job.state]} ",
            ref_of(item.job, web),
            f" {cut_line(item.job.issue.title, 60)}: ",
            Bold(state_in_words(item.job.state)),
            f"{f' ({cut_line(item.job.reason)})' if item.job.reason else ''}",
            *_pull(item.job, web),
            f", {cost_text(item.cost)}, {age_text(item.took_s)}, {age_text(_since(item.ended_at, history.at))} ago",
        )
        for item in history.jobs
    ]
    return _composed("What ended lately", listed(items, "No job has ended yet."))


def why_message(why: Why, *, web: str = "") -> View:
    """Where a job stands, and how it came there."""
    job = why.view.job
    text = f": {cut_line(why.view.doing)}" if why.view.doing else ""
    parts: list[Part] = [
        Paragraph(
            (f"{MARKS[job.state]} ", ref_of(job, web), *_pull(job, web), f" {cut_line(job.issue.title)}")
        ),
        Paragraph((Bold(state_in_words(job.state).capitalize()), text)),
    ]
    if why.decisions:
        parts.append(Bullets(tuple(_open(decision) for decision in why.decisions)))
    if why.findings:
        parts += [
            Heading("What was held against it"),
            listed([(cut_line(describe(item), 300),) for item in why.findings]),
        ]
    if why.told:
        parts.append(Heading("What happened"))
        parts.append(Bullets(tuple((_moment(line.at), f" {cut_line(line.sentence)}") for line in why.told)))
    earlier = f"{count(why.earlier, 'earlier event')} · " if why.earlier else ""
    parts.append(Note(f"{earlier}{cost_text(why.view.cost)}"))
    return _composed(f"Job {job.id}: {job.issue_ref}", *parts)


def _moment(at: datetime) -> Moment:
    return Moment(int(at.timestamp()), day=True)


def cost_message(costs: Costs) -> View:
    """What was spent today, or over some days."""
    is_today = len(costs.days) == 1
    parts: list[Part] = []
    if not is_today:
        parts.append(Bullets(tuple((Code(day.day), f" {cost_text(day.cost)}") for day in costs.days)))
    parts += _shares(costs.spaces)
    parts += caps_of(costs.caps)
    name = "Today" if is_today else f"The last {len(costs.days)} days"
    return _composed(f"{name}: {cost_text(costs.total)}", *parts, Note("Days are those of UTC."))


def job_cost_message(cost: JobCost) -> View:
    """What one job has cost, session by session."""
    parts = [*_shares(cost.sessions), *caps_of(cost.caps)]
    return _composed(f"Job {cost.job.id}, {cost.job.issue_ref}: {cost_text(cost.total)}", *parts)


def decisions_message(waiting: Sequence[OpenDecision], at: datetime) -> View:
    """What waits for a person."""
    return _composed(
        _waits(waiting).capitalize(),
        listed(_decisions(waiting, at), "All is answered."),
        *([Note("/overlord approve 5, reject 5, or answer 5 and your words.")] if waiting else []),
    )


def proposals_message(open_proposals: Sequence[EnhancementProposal], at: datetime) -> View:
    """What Overlord would improve: what waits for a person, and what was approved and is not done."""
    waiting = [item for item in open_proposals if item.status is ProposalStatus.PENDING]
    under_way = [item for item in open_proposals if item.status is not ProposalStatus.PENDING]
    parts: list[Part] = [
        listed([_proposed(item, at) for item in waiting], "Nothing waits for you."),
    ]
    if under_way:
        parts += [Heading("Approved"), listed([_proposed(item, at) for item in under_way])]
    if waiting:
        parts.append(Note("/overlord approve p3, or reject p3 and why."))
    return _composed(f"{count(len(waiting), 'proposal')} waiting for a person", *parts)


def _proposed(proposal: EnhancementProposal, at: datetime) -> Failpoint:
    became = f" · issue #{proposal.issue_number}" if proposal.issue_number is not None else ""
    rests = f" · rests: {cut_line(proposal.note)}" if proposal.rests else ""
    return (
        Bold(proposal.name),
        f" {cut_line(proposal.title)}: {type_in_words(proposal)} for {proposal.space}, impact {proposal.impact},"
        f" risk {proposal.risk}{became}{rests} · {age_text(_since(proposal.created_at, at))}",
    )


def brief_message(briefing: Briefing, *, web: str = "") -> View:
    """The morning briefing, for a person who reads it over a coffee."""
    parts: list[Part] = []
    for kind, name in SECTIONS.items():
        if found := briefing.of_kind(kind):
            parts += [
                Heading(f"{name.upper()} ({len(found)})"),
                listed([_to_decide(asked) for asked in found]),
            ]
    if briefing.proposed:
        parts += [
            Heading(f"PROPOSALS ({len(briefing.proposed)})"),
            listed([_proposed(item, briefing.at) for item in briefing.proposed]),
        ]
    if briefing.drafts:
        parts += [
            Heading(f"SKILL DRAFTS ({len(briefing.drafts)})"),
            drafts_list(briefing.drafts, briefing.at),
        ]
    ended = (
        ("Finished", briefing.finished),
        ("Failed or ended", briefing.failed),
        ("To review", briefing.to_review),
    )
    for name, jobs in ended:
        if jobs:
            parts += [Heading(f"{name} ({len(jobs)})"), listed([_ended(job, web) for job in jobs])]
    if not parts:
        parts.append(Paragraph(("Nothing waits for you, and nothing ended.",)))
    parts.append(Paragraph(("Spent since ", _moment(briefing.since), f": {cost_text(briefing.spent)}.")))
    return _composed(brief_title(briefing), *parts)


def brief_title(briefing: Briefing) -> str:
    """All of it in a line."""
    text = (
        (len(briefing.waiting), "waiting for you"),
        (len(briefing.proposed), "proposed"),
        (len(briefing.drafts), "drafted"),
        (len(briefing.finished), "finished"),
        (len(briefing.failed), "failed or ended"),
        (len(briefing.to_review), "to review"),
    )
    return f"Briefing: {', '.join(f'{number} {name}' for number, name in text if number) or 'all is quiet'}"


def _to_decide(asked: OpenDecision) -> Failpoint:
    decision = asked.decision
    return (
        Bold(f"{decision.id}: "),
        f"{cut_line(decision.title)} · blocks {cut_line(decision.blocks)}"
        f"{'' if asked.issue_number is None else f' of {asked.space}'} · suggested: ",
        Bold(suggestion(asked)),
    )


def _ended(job: Job, web: str) -> Failpoint:
    reason = f" ({cut_line(job.reason)})" if job.reason else ""
    return (
        f"{MARKS[job.state]} ",
        ref_of(job, web),
        *_pull(job, web),
        f" {cut_line(job.issue.title, 60)}{reason}",
    )


def _decisions(waiting: Iterable[OpenDecision], at: datetime) -> list[Failpoint]:
    return [
        (*_open(asked.decision), f" · {age_text(_since(asked.decision.created_at, at))}") for asked in waiting
    ]


def _open(decision: Decision) -> Failpoint:
    verbs = " | ".join(decision.verbs)
    return (Bold(f"{decision.kind} {decision.id}"), f" {cut_line(decision.title)}: ", Code(verbs))


def _waits(waiting: Sequence[OpenDecision]) -> str:
    return (
        f"{count(len(waiting), 'decision')} waiting for a person" if waiting else "nothing waits for a person"
    )


def paused(pauses: Iterable[Pause]) -> list[Part]:
    return [Paragraph((f"⏸️ {in_chat(pause.line)}",)) for pause in pauses]


def _shares(shares: Sequence[Share]) -> list[Part]:
    return [listed([(Bold(share.name), f" {cost_text(share.cost)}") for share in shares])] if shares else []


def caps_of(caps: Sequence[Cap]) -> list[Part]:
    return (
        [listed([(f"{'⚠️ ' if cap.spending.warns else ''}{cap_text(cap)}",) for cap in caps])] if caps else []
    )


def cap_text(cap: Cap) -> str:
    """A budget, and what it leaves."""
    unit, left = cap.budget.unit, cap.spending.left
    rest = usd_text(left) if unit is Unit.USD else f"{left:,} tokens"
    where = f"{cap.space}: " if cap.space else ""
    return f"{where}{rest} left of {cap.budget.describe()}"


def ref_of(job: Job, web: str) -> Span:
    return Place(web=web).issue(job)


def _pull(job: Job, web: str) -> Failpoint:
    if job.pull_number is None:
        return ()
    name = f"PR #{job.pull_number}"
    return (" ", Link(f"{web}/{job.space}/pull/{job.pull_number}", name) if web else Code(name))


def listed(items: Sequence[Failpoint], nothing: str = "") -> Part:
    if not items:
        return Paragraph((nothing,))
    more = len(items) - MOST_SHOWN
    return Bullets((*items[:MOST_SHOWN], *([(f"and {more} more",)] if more > 0 else [])))


def cut_line(text: str, limit: int = MOST_CHARS) -> str:
    """Somebody's words on one line: as text, whatever they hold, with commands as they are typed in a chat."""
    return cut(in_chat(text), limit)


def _since(moment: datetime, at: datetime) -> float:
    return (at - moment).total_seconds()


def _composed(text: str, *parts: Part, has_heading: bool = True) -> View:
    first: Part = Heading(text) if has_heading else Paragraph((text,))
    return View(summary=text, parts=(first, *(part for part in parts if part != Bullets(()))))
