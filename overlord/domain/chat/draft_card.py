"""What people read of a draft: its issue at the forge, its card and forms in the chat. Its text is shown whole or not at all:
nobody is to approve what they have not seen."""

import html
import json
import re

from overlord.domain.chat.card import FILL, PRESS, Place, ValueOf, cut, who
from overlord.domain.pause import name_of
from overlord.domain.skills.draft import DECIDABLE, WORKED, DraftKind, DraftState, SkillDraft
from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.plain import defused_line, length, visible
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.span import Bold, Code, Command, Span
from overlord.domain.view.view import (
    Bullets,
    Button,
    Buttons,
    ButtonStyle,
    Heading,
    Note,
    Output,
    Paragraph,
    Part,
    Quote,
    View,
)

APPROVE, EDIT, REJECT = "approve", "edit", "reject"
"""What its buttons mean."""
SHOWN_CHARS, SHOWN_BYTES = 2_400, 6_000
"""The longest text a message shows whole, beside all else that is in it: as clients count characters, and as it is sent."""
FIELD_CHARS = 3_000
"""The longest text a field of a form takes, counted likewise."""
_REASON, _FINDINGS = 300, 10
_MARKS = {
    DraftState.DRAFTING: "✍️",
    DraftState.CHECKING: "🔎",
    DraftState.WAITING: "📝",
    DraftState.APPROVED: "👍",
    DraftState.IMPLEMENTING: "🛠️",
    DraftState.IN_REVIEW: "👀",
    DraftState.MERGED: "🔎",
    DraftState.DEPLOYED: "✅",
    DraftState.REJECTED: "🚫",
    DraftState.FAILED: "❌",
}
_STATES = {
    DraftState.DRAFTING: "It is being written.",
    DraftState.CHECKING: "It is being judged beside the skills of the repository.",
    DraftState.APPROVED: "An issue is opened for it.",
    DraftState.IMPLEMENTING: "A Minion writes the file, word for word.",
    DraftState.IN_REVIEW: "Its pull request waits for a person to merge it.",
    DraftState.MERGED: "It was merged; what is at base is being compared with it.",
    DraftState.DEPLOYED: "It was merged: the next Minion whose issue calls for it has it.",
}
_LEVELS = {Level.REJECT: "❌", Level.FLAG: "⚠️", Level.NOTE: "ℹ️"}


def issue_body(draft: SkillDraft) -> str:
    """The text of the issue an approved draft becomes; its last line is what it is found by."""
    by = defused_line(name_of(draft.decided_by))
    text = f": {defused_line(draft.said)}" if draft.said else ""
    if draft.kind is DraftKind.RETIRE:
        parts = [
            f"Delete the file `{draft.path}`, and change nothing else. A person approved that this skill goes."
        ]
    else:
        parts = [
            f"Write the file `{draft.path}` exactly as it stands between the fences here, word for word, with a line feed at"
            " its end, and change nothing else. A person approved this very text; no other is taken.",
            _fenced(draft.text),
        ]
    parts.append(f"Draft {draft.label} of Overlord, approved by {by}{text} · {draft.key}")
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    """A text as it is, in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}yaml\n{text}{fence}"


def fits_message(draft: SkillDraft) -> bool:
    """Whether a message shows its text whole, and as it is."""
    text = draft.text
    escaped = html.escape(text, quote=False)  # as a chat counts it
    sent = len(json.dumps(escaped, ensure_ascii=False).encode())
    return visible(text) == text and length(escaped) <= SHOWN_CHARS and sent <= SHOWN_BYTES


def fits_form(draft: SkillDraft) -> bool:
    """Whether a form takes its text whole, and as it is."""
    text = draft.refused or draft.text
    return visible(text) == text and length(text) <= FIELD_CHARS


def draft_card(draft: SkillDraft, place: Place, value: ValueOf) -> View:
    """What would be written, what is held against it, and the answers: none once there is one."""
    mark = "⚠️" if draft.is_altered else _MARKS[draft.state]
    text = f"{mark} Draft {draft.label}: {draft.title}"
    what: tuple[Span, ...] = (Code(draft.path), " in ") if draft.path else ("For ",)
    parts: list[Part] = [Heading(text), Paragraph((*what, Code(draft.space)))]
    if draft.reason:
        parts.append(Quote(cut(draft.reason, _REASON)))
    if draft.state is DraftState.WAITING:
        parts += _draft_text(draft)
    parts += _finding_parts(draft)
    parts += _outcome(draft, place)
    if draft.trouble and draft.state in DECIDABLE:
        parts.append(
            Paragraph((Bold("An edit was not taken: "), cut(draft.trouble, 600), ". It is kept: edit it on."))
        )
    if draft.state in DECIDABLE and draft.state is not DraftState.DRAFTING:
        parts += _answers(draft, value)
    return View(summary=text, parts=tuple(parts))


def _draft_text(draft: SkillDraft) -> list[Part]:
    if draft.kind is DraftKind.RETIRE:
        return [Paragraph(("The file would be deleted, and no Minion offered the skill any more.",))]
    if not fits_message(draft):
        text = f"overlord skills drafts {draft.label}"
        how = ", which says how it is approved" if draft.is_approvable else ""
        return [
            Paragraph(
                (
                    "Its text cannot be shown here whole. Read it on the command line with ",
                    Code(text),
                    f"{how}.",
                )
            )
        ]
    return [Output(draft.text)]


def _finding_parts(draft: SkillDraft) -> list[Part]:
    if not draft.findings or draft.state not in DECIDABLE:
        return []
    items = [
        (
            f"{_LEVELS[item.level]} ",
            Bold(item.rule),
            f"{f' line {item.line}' if item.line else ''}: {cut(item.message, 200)}",
        )
        for item in draft.findings[:_FINDINGS]
    ]
    more = len(draft.findings) - _FINDINGS
    return [Bullets((*items, *([(f"and {more} more",)] if more > 0 else [])))]


def _outcome(draft: SkillDraft, place: Place) -> list[Part]:
    parts: list[Part] = []
    if draft.decided_by and draft.state not in DECIDABLE:
        verb = "Rejected" if draft.state is DraftState.REJECTED else "Approved"
        parts.append(Paragraph(("✔️ ", Bold(verb), " · ", who(draft.decided_by))))
        if draft.said:
            parts.append(Quote(cut(draft.said, _REASON)))
    if draft.is_altered:
        text = f"It was merged, and not as it was approved: {cut(draft.note, _REASON)}."
        parts.append(Paragraph((text,)))
    elif draft.state is DraftState.DEPLOYED and draft.kind is DraftKind.RETIRE:
        parts.append(Paragraph(("It was merged: no Minion is offered the skill any more.",)))
    elif draft.state is DraftState.IMPLEMENTING and draft.kind is DraftKind.RETIRE:
        parts.append(Paragraph(("A Minion deletes the file.",)))
    elif draft.state in _STATES:
        parts.append(Paragraph((_STATES[draft.state],)))
    if draft.issue_number is not None:
        parts.append(Paragraph(("Its issue: ", place.issue_at(draft.space, draft.issue_number))))
    if draft.note and not draft.is_altered:
        parts.append(Paragraph((cut(f"{draft.note[0].upper()}{draft.note[1:]}", _REASON),)))
    if draft.state is DraftState.FAILED and draft.kind is DraftKind.RETIRE:
        parts.append(Paragraph((f"To go on: {draft.way_on}, ", Command(draft.way_on_ref))))
    if draft.state in WORKED:
        how = f"To have it otherwise: close the pull request, then {draft.way_on}, "
        parts.append(Paragraph((how, Command(draft.way_on_ref))))
    return parts


def _answers(draft: SkillDraft, value: ValueOf) -> list[Part]:
    buttons: list[Button] = []
    is_whole = draft.kind is DraftKind.RETIRE or fits_message(draft)
    if draft.is_approvable and is_whole:
        does = "deletes this file" if draft.kind is DraftKind.RETIRE else "writes this file word for word"
        confirm = f"Approve {draft.label}? An issue is opened in {draft.space}, and a Minion {does}."
        buttons.append(
            Button(
                action=PRESS,
                label="Approve",
                value=value(APPROVE, ""),
                style=ButtonStyle.PRIMARY,
                confirm=confirm,
            )
        )
    if draft.is_editable and fits_form(draft):
        buttons.append(Button(action=FILL, label="Edit …", value=value(EDIT, "")))
    buttons.append(Button(action=FILL, label="Reject …", value=value(REJECT, "")))
    if draft.is_editable and not fits_form(draft):
        note = Note(f"It is edited on the command line: overlord skills edit {draft.label}")
        return [note, Buttons(tuple(buttons))]
    return [Buttons(tuple(buttons))]


def edit_form(draft: SkillDraft, value: str) -> Form:
    """The text, to be changed; what was not taken before is there to go on with."""
    above: tuple[Part, ...] = ()
    if draft.trouble:
        above = (Paragraph((Bold("Not taken: "), cut(draft.trouble, 600))),)
    field = FormField(
        name="text",
        label=draft.path or "The skill",
        hint="The whole file. It is judged again, and approved by you afterwards.",
        initial=draft.refused or draft.text,
        is_long=True,
        most=FIELD_CHARS,
    )
    return Form(
        action=FILL, value=value, title=f"Edit {draft.label}", submit="Save", fields=(field,), parts=above
    )
