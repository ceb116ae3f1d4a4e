"""Where one job stands, as it is shown."""

from collections.abc import Iterator

from minion.protocol import NATIVE
from overlord.command_ref import CommandRef
from overlord.domain.answers import consequence_of, label_of
from overlord.domain.budgets.budget import NANO, cost_text, usd_text
from overlord.domain.chat.lines import facts, happened, look_at, since, words
from overlord.domain.conversation.decision_words import answer_ref
from overlord.domain.conversation.pull_card import LEAD, state_in_words
from overlord.domain.disciplines.call import read_ref
from overlord.domain.inquiry import age_text
from overlord.domain.job import JobState
from overlord.domain.session import with_models
from overlord.domain.text.plain import size_text
from overlord.domain.view.span import Bold, Code, Command, Issue, Mark, Span
from overlord.domain.view.view import Action, Actions, Bullets, Heading, Note, Paragraph, Part, Table, View
from overlord.queries.job_status import (
    Artifact,
    BudgetUnit,
    BudgetUse,
    GateStatus,
    JobStatus,
    PhaseStatus,
    RoleState,
)

_NAMES = {RoleState.DONE: "done", RoleState.AT_WORK: "at work", RoleState.TO_COME: "to come"}


def _state(status: JobStatus) -> str:
    is_planned = status.state is JobState.COMPLETED and status.contract == LEAD
    return "planned" if is_planned else state_in_words(status.state)


def job_status_view(status: JobStatus) -> View:
    """All of it; what a contract of one phase and one role has none of is left out."""
    number = status.issue if status.issue is not None else -(read_ref(status.call) or 0)
    about = Issue(status.repository, number)
    title = f"Job {status.job}: {about.words}"
    reason = f": {words(status.reason, 500)}" if status.reason else ""
    parts: list[Part] = [
        Heading(title),
        Paragraph((about, f" {words(status.title)}")),
        Paragraph((Bold(_state(status).capitalize()), reason)),
        facts(*_standing(status)),
        *_waiting(status),
        Heading("Budgets"),
        Table(("of", "what", "used", "limit"), tuple(map(_budget_row, status.budgets))),
    ]
    if status.artifacts:
        parts += [Heading("Artifacts"), Bullets(tuple(map(_artifact, status.artifacts)))]
    if status.gates:
        parts += [Heading("Gates"), Bullets(tuple(map(_gate, status.gates)))]
    if status.events:
        told = tuple(happened(line.at, line.sentence) for line in status.events)
        parts += [Heading("What happened last"), Bullets(told)]
    parts.append(Note(f"Begun {since(status.created_at, status.at)} ago · {cost_text(status.cost)}"))
    return View(summary=title, parts=tuple(parts))


def _standing(status: JobStatus) -> Iterator[tuple[str, str | tuple[Span, ...]]]:
    phase = status.phase
    yield "contract", words(status.contract)
    yield "phase", f"{phase.name} ({phase.number} of {phase.total})" if phase.number else phase.name
    yield "roles", _roles(phase)
    if (tasks := status.assignments) is not None:
        blocked = f", {tasks.blocked} not to be worked on" if tasks.blocked else ""
        yield "assignments", f"{tasks.done} of {tasks.total} done{blocked}"
    yield "session", _session(status)
    yield "branch", (Code(status.branch),)


def _roles(phase: PhaseStatus) -> str:
    return ", ".join(f"{item.name} ({_NAMES[item.state]})" for item in phase.roles)


def _session(status: JobStatus) -> str:
    session = status.session
    if session is None:
        return "none runs"
    began = f", since {since(session.started_at, status.at)}" if session.started_at is not None else ""
    role = f" of {session.role}" if session.role else ""
    agent = "" if session.agent == NATIVE else f" by {words(with_models(session.agent, [session.model]))}"
    doing = f", turn {session.turn}: {words(session.last_action)}" if session.turn else ""
    return f"{session.id}{role}{agent} is live{began}{doing}"


def _waiting(status: JobStatus) -> Iterator[Part]:
    """What it waits for; of a decision every answer, as it is given."""
    if not status.waits_for.text:
        return
    text = words(status.waits_for.text, 300)
    yield Paragraph(("It waits for ", text, "" if text.endswith(("?", ".")) else "."))
    if not status.decisions:
        return
    asked = status.decisions[0]
    yield Actions(
        tuple(
            Action(label_of(verb), answer_ref(asked, verb), consequence_of(asked.subject, verb))
            for verb in asked.verbs
        )
    )
    yield from look_at(status.decisions)


def _budget_row(item: BudgetUse) -> tuple[tuple[Span, ...], ...]:
    limit = "" if item.limit is None else _amount(item.unit, item.limit)
    return (item.of,), (item.unit,), (_amount(item.unit, item.used),), (limit,)


def _amount(unit: BudgetUnit, value: float) -> str:
    match unit:
        case BudgetUnit.USD:
            return usd_text(round(value * NANO))
        case BudgetUnit.HOURS:
            return age_text(value * 3600)
        case BudgetUnit.MINUTES:
            return age_text(value * 60)
    return f"{value:,.0f}"


def _artifact(item: Artifact) -> tuple[Span, ...]:
    if item.size is not None:
        return (Mark("✅"), Code(words(item.path)), f" {size_text(item.size)}")
    match item.is_there:
        case True:
            return (Mark("✅"), Code(words(item.path)), " is there")
        case False:
            return (Mark("❔"), Code(words(item.path)), " is not there yet")
    return (Mark("❔"), Code(words(item.path)), " has to be made")


def _gate(item: GateStatus) -> tuple[Span, ...]:
    head = (Bold(words(item.name)), f" ({words(item.on)})")
    if item.verb is None:
        return (*head, " waits for an answer: ", Command(CommandRef("decision", (str(item.decision),))))
    said = "approved" if item.verb == "approve" else "rejected" if item.verb == "reject" else str(item.verb)
    return (*head, f" {said} by {words(item.by)}")
