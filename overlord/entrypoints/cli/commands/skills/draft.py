"""`overlord skills drafts|edit|approve|reject|retire`: skills on their way into a repository, and a person's word to them."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.skills.draft import SkillDraft
from overlord.domain.text.plain import visible
from overlord.domain.text.reference import draft_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Digest, Everything, Json, numbered
from overlord.entrypoints.cli.query_command import show as query_show
from overlord.entrypoints.cli.query_form import Form
from overlord.entrypoints.cli.verb_command import give, verb_command
from overlord.errors import Refused
from overlord.queries.declared.draft import OfDraft
from overlord.queries.declared.drafts import OfDrafts
from overlord.queries.registry import Question
from overlord.store.skills import drafts
from overlord.verbs.declared.edit import Edit
from overlord.verbs.registry import Command
from overlord.verbs.skill import check_editable

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
    query_show(question, form=Form.JSON if json else Form.VIEW)


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
    ref = ApprovalRef(kind=ApprovalKind.DRAFT, number=number)
    try:
        give(Command(name="edit", arguments=Edit(draft=ref, text=text)), digest=digest or draft.digest)
    except Refused as error:
        raise Refused(str(error), kept=f"your text is in {place}", hint=error.hint) from None
    if file is None:
        shutil.rmtree(place.parent, ignore_errors=True)  # editors leave backups beside it


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
