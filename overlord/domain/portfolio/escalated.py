"""An escalation as a person is asked it: the decision, what each answer resolves it to, and what the session is told."""

from dataclasses import dataclass
from datetime import datetime

from overlord.domain.answers import label_for, label_of
from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.portfolio.escalation import Escalation, EscalationKind, EscalationType
from overlord.domain.text.plain import defused_line, plain_line, quoted

OF_APPROVERS = frozenset({EscalationKind.CREDENTIALS, EscalationKind.DIRECTION})
"""What is decided by an approver, where the settings name any."""
DO_WITHOUT = "Do without: go on as well as it can be done without an answer."
_TITLE_CHARS = 200
_MESSAGE_CHARS = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """What an escalation is of, and what it blocks, by the words people know them by."""

    initiative: str = ""
    """`refresh-tokens`; empty where it is of none."""
    blocks: str = "nothing"
    """`task #4 "Rotate tokens"`, `entire initiative`, `nothing`."""

    def place(self, space: str) -> str:
        """`acme/calc / refresh-tokens`."""
        return f"{space} / {self.initiative}" if self.initiative else space


def task_blocked(number: int, subject: str) -> str:
    """How people are told of a task that waits: its number, and its subject as text."""
    return f'task #{number} "{plain_line(subject, limit=80)}"'


def as_decision(
    escalation: Escalation, affected: Affected, *, path: tuple[str, ...], audience: Audience, at: datetime
) -> Decision:
    """What a person is asked, not yet stored."""
    is_approval = escalation.type is EscalationType.APPROVAL
    question = plain_line(escalation.question, limit=_TITLE_CHARS)
    return Decision(
        id=0,
        job_id=None,
        space=escalation.space,
        kind=DecisionKind(escalation.type.value),
        subject=Subject.ESCALATED,
        title=f"{affected.place(escalation.space)}: {question}",
        body="\n\n".join(_body(escalation, affected, path)),
        verbs=(Verb.APPROVE, Verb.REJECT) if is_approval else (Verb.REPLY, Verb.DROP),
        blocks=affected.blocks,
        created_at=at,
        options=() if is_approval else tuple(item.label for item in escalation.suggested),
        audience=audience,
        about=escalation.ref,
    )


def _body(escalation: Escalation, affected: Affected, path: tuple[str, ...]) -> list[str]:
    found = [quoted(escalation.question)] if len(escalation.question) > _TITLE_CHARS else []
    if escalation.context:
        found.append(quoted(escalation.context))
    if escalation.suggested:
        lines = (
            f"- **{_words(item.label)}**" + (f": {_words(item.description)}" if item.description else "")
            for item in escalation.suggested
        )
        found += ["Suggested:", "\n".join(lines)]
    found.append(f"Blocks: {affected.blocks}.")
    found.append(f"Escalation {escalation.ref}, priority {escalation.priority}: {' → '.join(path)}.")
    return found


def _words(text: str) -> str:
    return defused_line(text).replace("*", "∗")


def resolution_of(escalation: Escalation, decision: Decision) -> str:
    """What a person's answer resolves it to, in words."""
    said = decision.answer.strip()
    if decision.verb is Verb.DROP:
        return DO_WITHOUT
    if decision.verb in (Verb.APPROVE, Verb.REJECT):
        label = "Approved" if decision.verb is Verb.APPROVE else "Rejected"
        is_bare = said in ("", label_of(decision.verb), label_for(decision.subject, decision.verb))
        return f"{label}." if is_bare else f"{label}: {said}"
    chosen = next((item for item in escalation.suggested if item.label.casefold() == said.casefold()), None)
    return f"{said} ({chosen.description})" if chosen is not None and chosen.description else said


def is_learned(escalation: Escalation, decision: Decision) -> bool:
    """Whether an answer is kept as knowledge: not one that may hold a secret, nor a yes that was meant for this once."""
    is_answer = decision.verb is Verb.REPLY and escalation.type is not EscalationType.APPROVAL
    return is_answer and escalation.kind is not EscalationKind.CREDENTIALS


def message_of(escalation: Escalation) -> str:
    """What the session that asked is told once there is an answer."""
    asked = " ".join(escalation.question.split())[:300]
    cited = f", from {escalation.cites}" if escalation.cites else ""
    return (
        f"Your escalation {escalation.ref} is resolved. You asked: {asked}\n\n"
        f"The answer (by {escalation.resolved_by}{cited}): {escalation.resolution[:_MESSAGE_CHARS]}\n\n"
        "Go on with what it blocked, and do not ask it again."
    )
