"""The answer in a chat to what is drafted: `/overlord drafts`."""

from collections.abc import Sequence
from datetime import datetime

from overlord.domain.chat.card import cut
from overlord.domain.inquiry import age_text
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View

MOST_SHOWN = 10
"""Of each list; how many more there are is said."""


def drafts_message(open_drafts: Sequence[SkillDraft], at: datetime) -> View:
    """Skills on their way: what waits for a person, and what is under way or went no further."""
    waiting = [item for item in open_drafts if item.state is DraftState.WAITING]
    others = [item for item in open_drafts if item.state is not DraftState.WAITING]
    text = f"{count(len(waiting), 'draft')} waiting for a person"
    parts: list[Part] = [Heading(text), drafts_list(waiting, at)]
    if others:
        parts += [Heading("On their way"), drafts_list(others, at)]
    if waiting:
        parts.append(Note("/overlord approve d3, or reject d3 and why. What a card shows is edited there."))
    return View(summary=text, parts=tuple(parts))


def drafts_list(found: Sequence[SkillDraft], at: datetime) -> Part:
    """A line for each."""
    items = [_line(item, at) for item in found[:MOST_SHOWN]]
    more = len(found) - MOST_SHOWN
    if not items:
        return Paragraph(("Nothing waits for you.",))
    return Bullets((*items, *([(f"and {more} more",)] if more > 0 else [])))


def _line(draft: SkillDraft, at: datetime) -> tuple[Span, ...]:
    issue = f" · issue #{draft.issue_number}" if draft.issue_number is not None else ""
    note = f" · {cut(draft.note, 140)}" if draft.note else ""
    age = age_text((at - draft.requested_at).total_seconds())
    state = draft.state.replace("_", " ")
    return (
        Bold(draft.label),
        f" {draft.title} in {draft.space}: {state}, {draft.verdict}{issue}{note} · {age}",
    )
