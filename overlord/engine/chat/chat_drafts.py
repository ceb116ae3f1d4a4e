"""Drafts of skills in the chat: what a person who was recognised (`engine/chat/handle_requests.py`) presses, types or sends, as the verb it stands for."""

import sqlite3
from collections.abc import Callable
from datetime import datetime
from functools import partial

from overlord.domain.chat.card import rejection_form
from overlord.domain.chat.draft_card import APPROVE, EDIT, REJECT, edit_form, fits_form
from overlord.domain.chat.message import Form
from overlord.domain.person import Person
from overlord.domain.text.redaction import MARK
from overlord.errors import Refused
from overlord.store.chat.buttons import KnownButton
from overlord.store.chat.messages import Message
from overlord.store.chat.requests import Request
from overlord.store.skills import drafts
from overlord.verbs.skill import (
    ApproveDraft,
    EditDraft,
    RejectDraft,
    RetireSkill,
    approve_draft,
    check_decidable,
    check_editable,
    edit_draft,
    reject_draft,
    retire_skill,
)


def approve(
    connection: sqlite3.Connection, number: int, *, by: Person, reason: str, digest: str | None, at: datetime
) -> str:
    """Say yes for an approver; what became of it. Raises NotFound, Refused."""
    command = ApproveDraft(draft_id=number, by=by, reason=reason, digest=digest)
    draft = approve_draft(connection, command, at=at)
    return f"Draft {draft.label}: approved. An issue is opened in {draft.space}."


def reject(
    connection: sqlite3.Connection, number: int, *, by: Person, reason: str, digest: str | None, at: datetime
) -> str:
    """Say no for an approver. Raises NotFound, Refused."""
    command = RejectDraft(draft_id=number, by=by, reason=reason, digest=digest)
    draft = reject_draft(connection, command, at=at)
    return f"Draft {draft.label}: rejected."


def retire(
    connection: sqlite3.Connection, space: str, name: str, *, by: Person, reason: str, at: datetime
) -> str:
    """Have it drafted that a skill goes, for an approver. Raises Refused."""
    command = RetireSkill(space=space, name=name, by=by, reason=reason)
    draft = retire_skill(connection, command, at=at)
    return f"Draft {draft.label} would retire {name} of {space}: it is put to you here once it is judged."


def pressed(
    connection: sqlite3.Connection, request: Request, button: KnownButton, message: Message, at: datetime
) -> tuple[str, Callable[[sqlite3.Connection, Person], str]]:
    """The space of a draft whose button was pressed, or whose form was sent, and what that does when given by a person whose
    word counts there: what is said of it is for them, where the card does not say it. Raises Refused."""
    draft = drafts.get(connection, message.ref)
    acts = {APPROVE: _approved, REJECT: _rejected, EDIT: _edited}
    if button.verb not in acts:
        raise Refused("that button means nothing any more")
    act = partial(acts[button.verb], number=draft.id, request=request, digest=button.digest, at=at)
    return draft.space, act


def _approved(
    connection: sqlite3.Connection, by: Person, *, number: int, request: Request, digest: str, at: datetime
) -> str:
    approve(connection, number, by=by, reason=request.text, digest=digest, at=at)
    return ""


def _rejected(
    connection: sqlite3.Connection, by: Person, *, number: int, request: Request, digest: str, at: datetime
) -> str:
    reject(connection, number, by=by, reason=request.text, digest=digest, at=at)
    return ""


def _edited(
    connection: sqlite3.Connection, by: Person, *, number: int, request: Request, digest: str, at: datetime
) -> str:
    now = drafts.get(connection, number)
    if request.text.count(MARK) > (now.refused or now.text).count(MARK):
        raise Refused("that text held what looks like a secret; take it out, none of it was kept")
    command = EditDraft(draft_id=number, by=by, text=request.text, digest=digest)
    draft = edit_draft(connection, command, at=at)
    if not draft.trouble:
        return ""
    return f"Draft {draft.label} stays as it was: {draft.trouble}. What you wrote is kept: press Edit to go on with it."


def form_for(connection: sqlite3.Connection, button: KnownButton, message: Message) -> tuple[str, Form]:
    """The space of a draft, and the form behind its button. Raises Refused for one that takes no such answer any more."""
    draft = drafts.get(connection, message.ref)
    if button.verb == EDIT:
        check_editable(connection, draft)
        if not fits_form(draft):
            raise Refused(f"its text is too long for a form; type `overlord skills edit {draft.label}`")
        return draft.space, edit_form(draft, button.nonce)
    check_decidable(draft)
    return draft.space, rejection_form(draft.label, draft.title, button.nonce)
