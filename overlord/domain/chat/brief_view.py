"""What a briefing shows."""

from collections.abc import Sequence

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.briefing import SECTIONS, Briefing, suggestion
from overlord.domain.chat.lines import Line, actions_of, drafts_table, issue_of, proposals_table, words
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import Job
from overlord.domain.view.span import Bold, Moment, Pull
from overlord.domain.view.view import Actions, Bullets, Heading, Paragraph, Part, View


def brief_view(briefing: Briefing, *, has_actions: bool = True) -> View:
    """For a person who reads it over a coffee. `has_actions`: with what is typed for each suggested answer."""
    parts: list[Part] = []
    for kind, name in SECTIONS.items():
        if found := briefing.of_kind(kind):
            parts.append(Heading(f"{name.upper()} ({len(found)})"))
            parts.append(Bullets(tuple(_to_decide(asked) for asked in found)))
            if has_actions:
                parts.append(Actions(tuple(actions_of(asked.decision)[0] for asked in found)))
    if briefing.proposed:
        parts.append(Heading(f"PROPOSALS ({len(briefing.proposed)})"))
        parts.append(proposals_table(briefing.proposed, briefing.at))
    if briefing.drafts:
        parts.append(Heading(f"SKILL DRAFTS ({len(briefing.drafts)})"))
        parts.append(drafts_table(briefing.drafts, briefing.at))
    parts += _ended_parts("Finished", briefing.finished)
    parts += _ended_parts("Failed or ended", briefing.failed)
    parts += _ended_parts("To review", briefing.to_review)
    if not parts:
        parts.append(Paragraph(("Nothing waits for you, and nothing ended.",)))
    since = Moment(int(briefing.since.timestamp()), day=True)
    parts.append(Paragraph(("Spent since ", since, f": {cost_text(briefing.spent)}.")))
    title = brief_title(briefing)
    return View(summary=title, parts=tuple(parts), has_title=True)


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


def _to_decide(asked: OpenDecision) -> Line:
    decision = asked.decision
    of = "" if asked.issue_number is None else f" of {asked.space}"
    what = f"{words(decision.title)} · blocks {words(decision.blocks)}{of} · suggested: "
    return (Bold(f"{decision.id}: "), what, Bold(suggestion(asked)))


def _ended_parts(name: str, jobs: Sequence[Job]) -> list[Part]:
    items = tuple(_ended(job) for job in jobs)
    return [Heading(f"{name} ({len(jobs)})"), Bullets(items)] if jobs else []


def _ended(job: Job) -> Line:
    pull: Line = (" ", Pull(job.space, job.pull_number)) if job.pull_number is not None else ()
    reason = f" ({words(job.reason)})" if job.reason else ""
    return (*issue_of(job), *pull, reason)
