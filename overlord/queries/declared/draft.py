"""One draft of a skill, whole: its text, what is held against it, and what became of it."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import facts, words
from overlord.domain.conversation.argument import ApprovalArgument
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.domain.skills.finding import SkillFinding
from overlord.domain.view.span import Issue
from overlord.domain.view.view import Action, Actions, Bullets, Heading, Output, Paragraph, Part, View
from overlord.queries.declared.drafts import ShownDraft, shown
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.skills import drafts


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDraft:
    """A draft."""

    number: Annotated[ApprovalRef | None, ApprovalArgument(kinds=frozenset({ApprovalKind.DRAFT}))]


def _read(look: Look, arguments: OfDraft) -> ShownDraft:
    assert arguments.number is not None, "a draft is always named"
    return shown(drafts.get(look.connection, arguments.number.number))


def _view(_look: Look, found: ShownDraft) -> View:
    draft = found.draft
    text = f"Draft {draft.label}, {draft.state.replace('_', ' ')}: {draft.title} in {draft.space}"
    because = f": {words(draft.reason, 500)}" if draft.reason else ""
    parts: list[Part] = [Heading(text)]
    if draft.path:
        parts.append(Paragraph((f"{draft.path}{' would be deleted' if not draft.text else ''}",)))
    parts.append(Paragraph((f"asked for by {words(draft.requested_by)}{because}",)))
    if draft.text:
        parts.append(Output(draft.text))
    parts.append(facts(("verdict", found.verdict)))
    if draft.findings:
        parts.append(Bullets(tuple((_finding(item),) for item in draft.findings)))
    parts += _became(draft)
    if draft.is_approvable:
        approve = CommandRef("approve", (draft.label,))
        parts.append(Actions((Action("Approve", approve, digest=found.digest),)))
    return View(summary=text, parts=tuple(parts))


def _finding(item: SkillFinding) -> str:
    line = f" line {item.line}" if item.line else ""
    return words(f"{item.level} {item.rule}{line}: {item.message}", 500)


def _became(draft: SkillDraft) -> list[Part]:
    note = "merged, and not as it was approved" if draft.is_altered else "note"
    verb = "rejected" if draft.state is DraftState.REJECTED else "approved"
    said = f": {words(draft.said, 500)}" if draft.said else ""
    lines = [
        (f"an edit was not taken: {words(draft.trouble, 600)}",) if draft.trouble else (),
        (f"{note}: {words(draft.note, 600)}",) if draft.note else (),
        ("its issue is ", Issue(draft.space, draft.issue_number)) if draft.issue_number is not None else (),
        (f"edited by {words(draft.edited_by)}",) if draft.edited_by else (),
        (f"{verb} by {words(draft.decided_by)}{said}",) if draft.decided_by else (),
    ]
    parts: list[Part] = [Paragraph(line) for line in lines if line]
    if draft.is_editable:
        parts.append(Actions((Action("Edit", CommandRef("skills edit", (draft.label,))),)))
    return parts


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfDraft,
    usage="draft d3",
    means="one draft, with its text",
    position=14,
    terminal="skills draft",
)
