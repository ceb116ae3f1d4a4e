"""`overlord skills drafts|edit|approve|reject|retire`: skills on their way into a repository, and a person's word to them."""

import os
import shlex
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from overlord.command_ref import CommandRef, hint
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.person import Person
from overlord.domain.skills.draft import SkillDraft
from overlord.domain.text.plain import visible
from overlord.domain.text.reference import draft_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Digest, Everything, Json, numbered
from overlord.entrypoints.cli.query_command import show as query_show
from overlord.entrypoints.cli.verb_command import verb_command
from overlord.entrypoints.terminal.show import person, show_text
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.queries.declared.draft import OfDraft
from overlord.queries.declared.drafts import OfDrafts
from overlord.queries.registry import Question
from overlord.store.skills import drafts
from overlord.verbs.skill import (
    EditDraft,
    check_editable,
    edit_draft,
)

_number = numbered(draft_in, "give a draft as d3")


Which = Annotated[int, typer.Argument(parser=_number, metavar="D3", help="The draft, as d3.")]


def list_drafts(
    number: Annotated[
        int | None, typer.Argument(parser=_number, metavar="D3", help="One draft, to be shown whole.")
    ] = None,
    everything: Everything = False,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Skills that are drafted and wait for a person, or are on their way; with a number that one, whole."""
    question = Question(name="drafts", arguments=OfDrafts(all=everything))
    if number is not None:
        ref = ApprovalRef(kind=ApprovalKind.DRAFT, number=number)
        question = Question(name="draft", arguments=OfDraft(number=ref))
    query_show(question, as_data=json)


def edit(
    number: Which,
    file: Annotated[
        Path | None, typer.Option("--file", help="Take the text from this file, and open no editor.")
    ] = None,
    digest: Digest = "",
    _repo: Repo = "",
) -> None:
    """Change a draft's text in $VISUAL or $EDITOR. What is not taken is kept, and said."""
    with state.reading() as connection:
        draft = drafts.get(connection, number)
        check_editable(connection, draft)
    place = file or _in_editor(draft)
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{place} cannot be read: {visible(str(error))}") from None
    command = EditDraft(draft_id=number, by=_who(), text=text, digest=digest or draft.digest)
    try:
        edited = state.write(Failpoint.DRAFT_DECIDED, lambda c: edit_draft(c, command, at=datetime.now(UTC)))
    except Refused as error:
        raise Refused(str(error), kept=f"your text is in {place}", hint=error.hint) from None
    if edited.trouble:
        raise Refused(
            f"draft {edited.label} stays as it was: {edited.trouble}",
            kept=f"your text is in {place}",
            hint=hint(CommandRef("skills edit", (edited.label,)), " goes on with it"),
        )
    if file is None:
        shutil.rmtree(place.parent, ignore_errors=True)  # editors leave backups beside it
    show_text(
        f"Draft {edited.label} is changed; the daemon judges it beside the other skills, then it can be approved."
    )


def _in_editor(draft: SkillDraft) -> Path:
    """A file with the text, once the person has closed their editor."""
    place = Path(tempfile.mkdtemp(prefix="overlord-")) / f"{draft.label}.yaml"
    place.write_text(draft.refused or draft.text, encoding="utf-8")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(place)], check=False).returncode
    except (OSError, ValueError) as error:
        raise Refused(
            f"the editor {editor!r} cannot be started: {error}; set EDITOR, or use --file"
        ) from None
    if code:
        raise Refused(f"the editor ended with {code}, so nothing was changed; your text is in {place}")
    return place


approve = verb_command(
    "approve",
    only=ApprovalKind.DRAFT,
    help="Say yes, word for word: a Minion writes the one file, and a pull request waits for its reviewers.",
)
reject = verb_command(
    "reject",
    only=ApprovalKind.DRAFT,
    help="Say no. What it was made for rests until somebody takes it up again.",
)
retire = verb_command("retire")


def _who() -> Person:
    return Person.of(person())
