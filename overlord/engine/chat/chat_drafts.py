"""Drafts of skills in the chat: what a person who was recognised (`engine/chat/handle_requests.py`) presses, types or sends, as the verb it stands for."""

import sqlite3
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.chat.draft_card import edit_form, fits_form
from overlord.domain.person import Person
from overlord.domain.text.redaction import MARK
from overlord.domain.view.form import Form
from overlord.errors import Refused
from overlord.store.chat.requests import Request
from overlord.store.skills import drafts
from overlord.verbs.skill import (
    EditDraft,
    check_editable,
    edit_draft,
)
from overlord.verbs.verb import Done


def edit(
    connection: sqlite3.Connection, by: Person, *, number: int, request: Request, digest: str, at: datetime
) -> Done:
    """Put the text of a form in a draft's place, for an approver; what is said is for them. Raises NotFound, Refused."""
    now = drafts.get(connection, number)
    if request.text.count(MARK) > (now.refused or now.text).count(MARK):
        raise Refused("that text held what looks like a secret; take it out, none of it was kept")
    command = EditDraft(draft_id=number, by=by, text=request.text, digest=digest)
    draft = edit_draft(connection, command, at=at)
    if not draft.trouble:
        return Done(text="")
    return Done(
        text=f"Draft {draft.label} stays as it was: {draft.trouble}. What you wrote is kept: press Edit to go on with it."
    )


def form_for(connection: sqlite3.Connection, number: int, nonce: str) -> tuple[str, Form]:
    """The space of a draft, and the form to edit it. Raises Refused for one that takes no other text now."""
    draft = drafts.get(connection, number)
    check_editable(connection, draft)
    if not fits_form(draft):
        raise Refused(
            "its text is too long for a form", hint=hint("type ", CommandRef("skills edit", (draft.label,)))
        )
    return draft.space, edit_form(draft, nonce)
