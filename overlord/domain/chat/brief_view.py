"""What a briefing shows."""

from collections.abc import Sequence

from overlord.command_ref import CommandRef
from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.briefing import SECTIONS, Briefing, Mentioned, suggestion
from overlord.domain.chat.lines import Line, actions_of, drafts_table, issue_of, proposals_table, words
from overlord.domain.chat.markdown import parts_of
from overlord.domain.decision import DecisionKind, Verb
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import Job
from overlord.domain.view.span import Bold, Command, Moment, Pull
from overlord.domain.view.view import Actions, Bullets, Heading, Outline, Paragraph, Part, View


def brief_view(briefing: Briefing, *, has_actions: bool = True) -> View:
    """For a person who reads it over a coffee. `has_actions`: with what is typed for each suggested answer."""
    if briefing.kept:
        return View(summary=brief_title(briefing), parts=parts_of(briefing.kept))
    parts: list[Part] = []
    for kind, name in SECTIONS.items():
        if found := briefing.of_kind(kind):
            parts.append(Heading(f"{name.upper()} ({len(found)})"))
            parts.append(Outline(tuple(_to_decide(asked) for asked in found)))
            if has_actions:
                parts.append(Actions(tuple(actions_of(asked.decision)[0] for asked in found)))
    if briefing.proposed:
        parts.append(Heading(f"PROPOSALS ({len(briefing.proposed)})"))
        parts.append(proposals_table(briefing.proposed, briefing.at))
    if briefing.drafts:
        parts.append(Heading(f"SKILL DRAFTS ({len(briefing.drafts)})"))
        parts.append(drafts_table(briefing.drafts, briefing.at))
    parts += _mentioned_parts("Tasks done", briefing.done)
    parts += _ended_parts("Finished", briefing.finished)
    parts += _ended_parts("Failed or ended", briefing.failed)
    parts += _mentioned_parts("Answered without asking you", briefing.resolved)
    parts += _mentioned_parts("Learned, and not accepted yet", briefing.noted)
    parts += _ended_parts("To review", briefing.to_review)
    parts += _mentioned_parts("Goes on", briefing.going_on)
    if not parts:
        parts.append(Paragraph(("Nothing waits for you, and nothing ended.",)))
    since = Moment(int(briefing.since.timestamp()), day=True)
    parts.append(Paragraph(("Spent since ", since, f": {cost_text(briefing.spent)}.")))
    title = brief_title(briefing)
    return View(summary=title, parts=tuple(parts), has_title=True)


def brief_title(briefing: Briefing) -> str:
    """All of it in a line."""
    if briefing.kept:
        return f"Briefing of {briefing.at:%Y-%m-%d}"
    text = (
        (len(briefing.waiting), "waiting for you"),
        (len(briefing.proposed), "proposed"),
        (len(briefing.drafts), "drafted"),
        (len(briefing.done), "done"),
        (len(briefing.finished), "finished"),
        (len(briefing.failed), "failed or ended"),
        (len(briefing.to_review), "to review"),
    )
    return f"Briefing: {', '.join(f'{number} {name}' for number, name in text if number) or 'all is quiet'}"


def _to_decide(asked: OpenDecision) -> tuple[Line, ...]:
    """The question with where it is asked; below it what is suggested, and what it blocks."""
    decision = asked.decision
    lines: list[Line] = [(Bold(f"{decision.ref.label}: "), f"[{words(asked.place)}] {words(asked.question)}")]
    if suggested := _suggested(asked):
        lines.append(("Suggested: ", Bold(suggested[0]), suggested[1]))
    if decision.blocks != NOTHING:
        lines.append((f"Blocks: {words(decision.blocks)}",))
    if decision.kind is DecisionKind.APPROVAL:
        shows = CommandRef("decision", (decision.ref.label,))
        lines.append(("View details: ", Command(shows)))
    return tuple(lines)


NOTHING = "nothing"


def _suggested(asked: OpenDecision) -> tuple[str, str] | None:
    """The suggested answer, and why it is; None where there is none to choose: a yes is not suggested before it was looked at."""
    decision = asked.decision
    is_open = decision.verbs[0] is Verb.REPLY and not decision.suggested
    if is_open or decision.verbs[0] is Verb.APPROVE:
        return None
    found = words(suggestion(asked))
    return found, f" ({words(asked.why)})" if asked.why else ""


def _mentioned_parts(name: str, found: Sequence[Mentioned]) -> list[Part]:
    items = tuple(_mentioned(item) for item in found)
    return [Heading(f"{name} ({len(found)})"), Bullets(items)] if found else []


def _mentioned(item: Mentioned) -> Line:
    place = f"[{words(item.place)}] " if item.place else ""
    return (Bold(f"{item.ref}: "), f"{place}{words(item.text)}")


def _ended_parts(name: str, jobs: Sequence[Job]) -> list[Part]:
    items = tuple(_ended(job) for job in jobs)
    return [Heading(f"{name} ({len(jobs)})"), Bullets(items)] if jobs else []


def _ended(job: Job) -> Line:
    pull: Line = (" ", Pull(job.space, job.pull_number)) if job.pull_number is not None else ()
    reason = f" ({words(job.reason)})" if job.reason else ""
    return (*issue_of(job), *pull, reason)
