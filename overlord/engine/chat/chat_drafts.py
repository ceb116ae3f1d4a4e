"""Drafts of skills in the chat: the form in which a person edits one."""

import sqlite3

from overlord.command_ref import CommandRef, hint
from overlord.domain.chat.draft_card import edit_form, fits_form
from overlord.domain.view.form import Form
from overlord.errors import Refused
from overlord.store.skills import drafts
from overlord.verbs.skill import check_editable


def form_for(connection: sqlite3.Connection, number: int, nonce: str) -> tuple[str, Form]:
    """The space of a draft, and the form to edit it. Raises Refused for one that takes no other text now."""
    draft = drafts.get(connection, number)
    check_editable(connection, draft)
    if not fits_form(draft):
        raise Refused(
            "its text is too long for a form", hint=hint("type ", CommandRef("skills edit", (draft.label,)))
        )
    return draft.space, edit_form(draft, nonce)
