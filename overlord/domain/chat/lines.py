"""Lines that several views have: jobs, pauses, budgets, what waits for people. Other people's words are text on one line."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from overlord.command_ref import CommandRef
from overlord.domain.answers import consequence_of, label_for
from overlord.domain.budgets.budget import Unit, cost_text, usd_text
from overlord.domain.chat.card import MARKS, cut
from overlord.domain.chat.proposal_card import type_in_words
from overlord.domain.conversation.decision_words import answer_ref
from overlord.domain.conversation.pull_card import state_of
from overlord.domain.decision import Decision
from overlord.domain.inquiry import Cap, JobView, OpenDecision, Share, age_text
from overlord.domain.job import Job
from overlord.domain.pause import Pause
from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.skills.draft import SkillDraft
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Code, Issue, Mark, Moment, Pull, Span
from overlord.domain.view.view import Action, Actions, Bullets, Fields, Paragraph, Part, Table

MOST_CHARS = 140
"""Of somebody else's words in one line."""
_TITLE = 60
_SENTENCE = 300

Line = tuple[Span, ...]


def words(text: str, limit: int = MOST_CHARS) -> str:
    """Somebody's words on one line: as text, whatever they hold."""
    return cut(text, limit)


def since(moment: datetime, at: datetime) -> str:
    """How long ago, in one unit."""
    return age_text((at - moment).total_seconds())


def happened(at: datetime, sentence: str) -> Line:
    """One line of what happened."""
    return (Moment(int(at.timestamp()), day=True), f" {words(sentence, _SENTENCE)}")


def issue_of(job: Job) -> Line:
    """A job's issue, with how the job stands as a sign."""
    return (Mark(MARKS[job.state]), Issue(job.space, job.issue.number), f" {words(job.issue.title, _TITLE)}")


def result_of(job: Job, *, is_local: bool) -> Line:
    """Where what it has come to is: its pull request, or its branch where there is no forge."""
    if is_local:
        return (Code(job.branch),)
    return (Pull(job.space, job.pull_number),) if job.pull_number is not None else ()


def jobs_table(views: Sequence[JobView], at: datetime, *, is_local: bool) -> Table:
    """Jobs, and what each is at."""
    columns = ("job", "issue", "state", "doing", result_column(is_local), "age")
    return Table(columns, tuple(_job_row(view, at, is_local) for view in views))


def _job_row(view: JobView, at: datetime, is_local: bool) -> tuple[Line, ...]:
    job = view.job
    state, doing = (Bold(state_of(job)),), (words(view.doing),) if view.doing else ()
    age = (since(job.created_at, at),)
    return (str(job.id),), issue_of(job), state, doing, result_of(job, is_local=is_local), age


def result_column(is_local: bool) -> str:
    return "branch" if is_local else "pull request"


def decisions_table(waiting: Iterable[Decision], at: datetime) -> Table:
    """What waits for a person."""
    rows = tuple(
        (
            (Bold(item.ref.label),),
            (str(item.kind),),
            (words(item.title),),
            (Code(" | ".join(item.verbs)),),
            (since(item.created_at, at),),
        )
        for item in waiting
    )
    return Table(("id", "kind", "what", "answers", "age"), rows)


def actions_of(decision: Decision) -> tuple[Action, ...]:
    """Its answers, each with what is typed and what comes of it."""
    return tuple(
        Action(
            label_for(decision.subject, verb),
            answer_ref(decision, verb),
            consequence_of(decision.subject, verb),
        )
        for verb in decision.verbs
    )


def look_at(waiting: Sequence[Decision]) -> list[Part]:
    """How one of these is shown, whole."""
    if not waiting:
        return []
    ref = waiting[0].ref
    return [Actions((Action("See one, and what each answer does", CommandRef(ref.kind, (ref.label,))),))]


def waits(waiting: Sequence[OpenDecision]) -> str:
    return (
        f"{count(len(waiting), 'decision')} waiting for a person" if waiting else "nothing waits for a person"
    )


def paused(pauses: Iterable[Pause]) -> list[Part]:
    return [Paragraph((Mark("⏸️"), pause.line)) for pause in pauses]


def shares(name: str, found: Sequence[Share]) -> list[Part]:
    """Who spent what."""
    rows = tuple(((Bold(words(share.name)),), (cost_text(share.cost),)) for share in found)
    return [Table((name, "cost"), rows)] if rows else []


def caps_of(caps: Sequence[Cap]) -> list[Part]:
    items = [(*((Mark("⚠️"),) if cap.spending.warns else ()), cap_text(cap)) for cap in caps]
    return [Bullets(tuple(items))] if items else []


def cap_text(cap: Cap) -> str:
    """A budget, and what it leaves."""
    unit, left = cap.budget.unit, cap.spending.left
    rest = usd_text(left) if unit is Unit.USD else f"{left:,} tokens"
    where = f"{cap.space}: " if cap.space else ""
    return f"{where}{rest} left of {cap.budget.describe()}"


def listed(part: Table | Bullets, *nothing: Span) -> Part:
    """A list, or what is said where there is nothing in it."""
    is_empty = not (part.rows if isinstance(part, Table) else part.items)
    return Paragraph(nothing) if is_empty else part


def facts(*items: tuple[str, str | Line]) -> Fields:
    """Names and values; what is empty is left out."""
    spans = [(name, (value,) if isinstance(value, str) else value) for name, value in items if value]
    return Fields(tuple(spans))


def proposals_table(found: Iterable[EnhancementProposal], at: datetime) -> Table:
    """What Overlord would improve."""
    rows = tuple(
        (
            (Bold(item.name),),
            (f"{item.status}{f', rests: {words(item.note)}' if item.rests else ''}",),
            (type_in_words(item),),
            (item.space,),
            (words(item.title),),
            (str(item.impact),),
            (str(item.risk),),
            (since(item.created_at, at),),
        )
        for item in found
    )
    return Table(("id", "status", "type", "repository", "what", "impact", "risk", "age"), rows)


def drafts_table(found: Iterable[SkillDraft], at: datetime) -> Table:
    """Skills on their way."""
    rows = tuple(
        (
            (Bold(item.label),),
            (item.state.replace("_", " "),),
            (str(item.verdict),),
            (item.space,),
            (item.title,),
            (Issue(item.space, item.issue_number),) if item.issue_number is not None else (),
            (words(item.note),) if item.note else (),
            (since(item.requested_at, at),),
        )
        for item in found
    )
    return Table(("id", "state", "verdict", "repository", "what", "issue", "note", "age"), rows)
