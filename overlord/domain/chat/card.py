"""Cards in a chat: a job as it moves, a decision with its answers, and the forms behind buttons. Facts are Overlord's; anybody
else's words stand as quotes, or as text that can do nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import SessionKind
from overlord.command_ref import CommandRef
from overlord.domain.answers import consequence_of, label_for, label_of
from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.chat.markdown import parts_of
from overlord.domain.conversation.pull_card import Story, evidence_parts, state_of
from overlord.domain.decision import (
    Decision,
    DecisionKind,
    DecisionState,
    Subject,
    Verb,
)
from overlord.domain.evaluation import CheckScore
from overlord.domain.identifiers import UserId
from overlord.domain.job import Job, JobState
from overlord.domain.scope.approval import EXAMPLE
from overlord.domain.session import SessionState
from overlord.domain.text.plain import visible
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mention, Moment, Span
from overlord.domain.view.view import (
    ActionId,
    Bullets,
    Button,
    Buttons,
    ButtonStyle,
    Heading,
    Note,
    Paragraph,
    Part,
    Quote,
    View,
)

PRESS, FILL, OPEN = ActionId("press"), ActionId("fill"), ActionId("open")
"""A press that counts, one that opens a form, one that only leads somewhere."""
STOP, RETRY, EVIDENCE = "stop", "retry", "evidence"
"""What a job's buttons mean."""
MOST_OPTIONS = 5
_LABEL, _TITLE, _ACTION, _REASON = 75, 110, 120, 300

ValueOf = Callable[[str, str], str]
"""The value of a button, by its verb and the text that goes with it."""


def cut(text: str, limit: int) -> str:
    """Somebody's words on one line."""
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


MARKS: Mapping[JobState, str] = {
    JobState.QUEUED: "⏳",
    JobState.RUNNING: "🛠️",
    JobState.EVALUATING: "🔎",
    JobState.DELIVERING: "📦",
    JobState.IN_REVIEW: "👀",
    JobState.WAITING: "✋",
    JobState.COMPLETED: "✅",
    JobState.CANCELLED: "⏹️",
    JobState.FAILED: "❌",
}
_SCORES: Mapping[CheckScore | None, str] = {
    CheckScore.PASS: "✅",
    CheckScore.FAIL: "❌",
    CheckScore.NEEDS_REVISION: "↩️",
    CheckScore.NOT_JUDGED: "⚠️",
    None: "❔",
}
KIND_NAMES: Mapping[DecisionKind, str] = {
    DecisionKind.DECISION: "Decision",
    DecisionKind.BLOCKER: "Blocker",
    DecisionKind.QUESTION: "Question",
    DecisionKind.APPROVAL: "Approval",
    DecisionKind.PROPOSAL: "Proposal",
    DecisionKind.DRAFT: "Draft",
}
_SHOWN: Mapping[SessionKind, str] = {
    SessionKind.WORK: "",
    SessionKind.CHECK: "the repository's checks run",
    SessionKind.SETUP: "the environment is set up",
}
"""Sessions that are shown while they run, and in which words; a Minion's by its turn."""
_AGAIN = frozenset({Verb.RETRY, Verb.ONE_MORE, Verb.RECHECK, Verb.REDELIVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where repositories are shown to people, as https://github.com; empty where nobody knows."""

    web: str = ""

    def issue(self, job: Job) -> Span:
        return self.issue_at(job.space, job.issue.number)

    def issue_at(self, space: str, number: int) -> Span:
        named = Issue(space, number)
        is_linked = bool(self.web) and not named.call
        return Link(f"{self.web}/{space}/issues/{number}", named.words) if is_linked else Code(named.words)

    def pull(self, job: Job) -> str:
        """The pull request's address; empty where there is none."""
        return f"{self.web}/{job.space}/pull/{job.pull_number}" if self.web and job.pull_number else ""


def job_card(story: Story, place: Place, value: ValueOf, *, stopping: str) -> View:
    """A job's one message: where it stands, what is done now, what was checked, and the buttons that fit. `stopping`: what comes of
    the button that stops it."""
    job = story.job
    text = f"{MARKS[job.state]} {cut(job.issue.title, _TITLE)}"
    state = state_of(job)
    parts: list[Part] = [
        Heading(text),
        Paragraph((place.issue(job), "  ", Bold(state.capitalize()))),
        *_now(story),
    ]
    if checks := _checks(story):
        parts.append(Bullets(checks))
    parts.append(Note(_figures(story)))
    if buttons := _job_buttons(story, place, value, stopping):
        parts.append(Buttons(buttons))
    return View(summary=f"{text} · {job.issue_ref}: {state}", parts=tuple(parts))


def _now(story: Story) -> list[Part]:
    job, parts = story.job, list[Part]()
    live = [item for item in story.sessions if item.state is not SessionState.ENDED and item.kind in _SHOWN]
    if job.reason:
        parts.append(Paragraph((cut(job.reason, _REASON),)))
    if story.trouble:
        parts.append(Paragraph((f"⚠️ {cut(story.trouble, _REASON)}",)))
    for session in live[-1:]:
        doing = cut(session.last_action, _ACTION)
        turn = f"turn {session.turn}" if session.turn else "starting"
        spans: tuple[Span, ...] = (": ", Code(doing)) if doing else ()
        parts.append(Paragraph((Bold(_SHOWN[session.kind] or turn), *spans)))
    for decision in story.decisions:
        parts.append(
            Paragraph(
                (Bold(f"{KIND_NAMES[decision.kind]} {decision.id}"), f" {cut(decision.title, _REASON)}")
            )
        )
    return parts


def _checks(story: Story) -> tuple[tuple[Span, ...], ...]:
    if not story.evaluations:
        return ()
    checks = story.evaluations[-1].checks
    return tuple(
        (f"{_SCORES[check.score]} ", Bold(check.name), f"  {cut(check.summary, _REASON)}") for check in checks
    )


def _figures(story: Story) -> str:
    job = story.job
    cost = cost_text(Cost(tokens=story.usage.total, nusd=story.cost_nusd))
    revision = f"revision {job.revision}/{story.attempts - 1}"
    facts = [f"job {job.id}", *([story.turn] if story.turn else []), revision, cost]
    if story.worked_by:
        facts.insert(-1, f"by {cut(', '.join(story.worked_by), _ACTION)}")
    if job.pull_number is not None:
        facts.append(f"pull request #{job.pull_number}")
    return " · ".join(facts)


def _job_buttons(story: Story, place: Place, value: ValueOf, stopping: str) -> tuple[Button, ...]:
    job, buttons = story.job, list[Button]()
    if address := place.pull(job):
        buttons.append(Button(action=OPEN, label="Open PR", url=address))
    if story.evaluations:
        buttons.append(Button(action=PRESS, label="Show evidence", value=value(EVIDENCE, "")))
    if job.state is JobState.WAITING and any(_AGAIN & set(item.verbs) for item in story.decisions):
        buttons.append(Button(action=PRESS, label="Retry", value=value(RETRY, "")))
    if job.is_open and job.state is not JobState.IN_REVIEW:
        buttons.append(
            Button(
                action=PRESS,
                label="Stop",
                value=value(STOP, ""),
                confirm=f"Stop job {job.id}? {stopping}",
            )
        )
    return tuple(buttons)


def story_message(sentences: Sequence[tuple[datetime, str]]) -> View:
    """What has happened to a job since its thread was last told, oldest first."""
    lines = tuple((_moment(at), f"  {cut(sentence, _REASON)}") for at, sentence in sentences)
    return View(summary=cut(sentences[-1][1], _REASON), parts=(Bullets(lines),))


def _moment(at: datetime, *, day: bool = False) -> Moment:
    return Moment(int(at.timestamp()), day=day)


def notice(sentence: str) -> View:
    """One thing that everybody is to know."""
    text = cut(sentence[:1].upper() + sentence[1:], _REASON).rstrip(".")
    return View(summary=text, parts=(Paragraph((f"{text}.",)),))


def evidence_message(story: Story, place: Place) -> View:
    """What was done and what proves it; the whole of it is a click or a command away."""
    job = story.job
    address = place.pull(job)
    more: tuple[Span, ...] = ("All of it: ", Command(CommandRef("why", (str(job.id),))))
    if address:
        more += (", or ", Link(address, f"pull request #{job.pull_number}"))
    parts = (
        Heading(f"Evidence of job {job.id}: {job.issue_ref}"),
        *evidence_parts(story),
        Paragraph(more),
    )
    return View(summary=f"Evidence of job {job.id}", parts=parts)


_DONE: Mapping[DecisionState, str] = {
    DecisionState.EXPIRED: "It expired without an answer.",
    DecisionState.SUPERSEDED: "It needs no answer any more.",
}


def decision_card(decision: Decision, job: Job | None, place: Place, value: ValueOf) -> View:
    """What is asked, what it rests on, what it blocks, and the answers: none once there is one."""
    text = f"{KIND_NAMES[decision.kind]} {decision.id}: {cut(decision.title, _TITLE)}"
    parts: list[Part] = [Heading(text)]
    if job is not None:
        parts.append(Paragraph((place.issue(job), f"  {cut(job.issue.title, _TITLE)}")))
    elif decision.space and decision.space not in decision.title:
        parts.append(Paragraph((decision.space,)))
    parts += parts_of(decision.body)
    if decision.patterns:
        parts.append(Paragraph((_wants(decision), *_joined(decision.patterns))))
    if decision.state is not DecisionState.OPEN:
        return View(summary=text, parts=(*parts, *_outcome(decision)))
    if decision.expires_at:
        parts.append(
            Paragraph(
                ("It waits until ", _moment(decision.expires_at, day=True), " and goes on alone after that.")
            )
        )
    worded = " · or reply here, in words" if Verb.REPLY in decision.verbs else ""
    blocks = f"Blocks {decision.blocks} · " if decision.blocks else ""
    parts.append(Note(f"{blocks}suggested: {label_for(decision.subject, decision.verbs[0])}{worded}"))
    subject = decision.subject
    does = [(Bold(label_for(subject, verb)), f": {consequence_of(subject, verb)}") for verb in decision.verbs]
    parts.append(Bullets(tuple(does)))
    parts.append(Buttons(tuple(answers_of(decision, value))))
    return View(summary=text, parts=tuple(parts))


def _outcome(decision: Decision) -> list[Part]:
    if decision.state is not DecisionState.ANSWERED:
        return [Paragraph((_DONE[decision.state],))]
    label = label_for(decision.subject, decision.verb) if decision.verb else ""
    parts: list[Part] = [Paragraph(("✔️ ", Bold(label), " · ", who(decision.answered_by)))]
    if decision.answer and decision.answer not in (label, label_of(decision.verb) if decision.verb else ""):
        parts.append(Quote(decision.answer))
    return parts


def who(actor: str) -> Span:
    """Who somebody is, in the chat's own way where they are of it."""
    interface, _, name = actor.partition(":")
    return Mention(UserId(name)) if interface == "slack" else actor


def _wants(decision: Decision) -> str:
    """Who asks for paths."""
    if decision.subject is not Subject.SCOPE_REQUEST:
        return "Paths: "
    return f"The Minion of {decision.session_id} asks to write: "


def _joined(patterns: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    for pattern in patterns[:20]:
        spans += [Code(cut(pattern, _ACTION)), " "]
    return spans


def answers_of(decision: Decision, value: ValueOf) -> list[Button]:
    """The buttons that answer it."""
    buttons: list[Button] = []
    for index, verb in enumerate(decision.verbs):
        style = ButtonStyle.PRIMARY if index == 0 else ButtonStyle.PLAIN
        if verb in _WORDED:
            buttons += _worded(decision, verb, style, value)
        elif verb is Verb.DROP and decision.subject is not Subject.ESCALATED:
            ends = f" {decision.blocks.capitalize()} ends here." if decision.blocks else ""
            confirm = f"Drop it?{ends}"
            buttons.append(_button(decision, verb, value, ButtonStyle.DANGER, confirm=confirm))
        elif verb is Verb.REJECT and decision.subject in (Subject.GATE, Subject.ESCALATED):
            buttons.append(Button(action=FILL, label="Reject …", value=value(verb, "")))
        else:
            buttons.append(_button(decision, verb, value, style))
    return buttons


_WORDED: Mapping[Verb, str] = {
    Verb.REPLY: "In words …",
    Verb.ADD_BUDGET: "Other amount …",
    Verb.LIMIT: "Only these files …",
}
"""Answers that need words, and what the button of their form says."""


def is_worded(verb: Verb) -> bool:
    """Whether an answer needs words with it."""
    return verb in _WORDED


def _worded(decision: Decision, verb: Verb, style: ButtonStyle, value: ValueOf) -> list[Button]:
    """A button for each answer that was offered, and one for other words."""
    sign = {Verb.ADD_BUDGET: "+ ", Verb.LIMIT: "Only "}.get(verb, "")
    offered = [
        Button(action=PRESS, label=cut(f"{sign}{text}", _LABEL), value=value(verb, text), style=style)
        for text in decision.suggested[:MOST_OPTIONS]
    ]
    label = "Answer …" if decision.subject is Subject.DISCOVERY else _WORDED[verb]
    return [*offered, Button(action=FILL, label=label, value=value(verb, ""))]


def _button(
    decision: Decision, verb: Verb, value: ValueOf, style: ButtonStyle, *, confirm: str = ""
) -> Button:
    return Button(
        action=PRESS,
        label=label_for(decision.subject, verb),
        value=value(verb, ""),
        style=style,
        confirm=confirm,
    )


NUMBERED = "One on each line, with its question's number: 1: …"


def answer_form(decision: Decision, verb: Verb, value: str) -> Form:
    """What is asked for before an answer in words counts."""
    if verb is Verb.ADD_BUDGET:
        hint = "Tokens as 500k, or dollars as $2."
        field = FormField(
            name="text", label="How much to add", hint=hint, initial=decision.options[0], most=40
        )
    elif verb is Verb.LIMIT:
        field = FormField(
            name="text",
            label="Files that may be written",
            hint=f"Patterns as {EXAMPLE}, with spaces between.",
            initial=decision.suggested[0] if decision.suggested else "",
            is_long=True,
        )
    elif verb is Verb.REJECT:
        field = FormField(name="text", label="Why", is_long=True, is_optional=True)
    elif decision.subject is Subject.DISCOVERY:
        field = FormField(name="text", label="Your answers", hint=NUMBERED, is_long=True)
    else:
        field = FormField(name="text", label="Your answer", is_long=True)
    return Form(
        action=FILL,
        value=value,
        title=f"{KIND_NAMES[decision.kind]} {decision.ref.label}",
        submit="Reject" if verb is Verb.REJECT else "Answer",
        fields=(field,),
        parts=(Paragraph((cut(decision.title, _REASON),)),),
    )
