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

from overlord.domain.decision import ApprovalKind
from overlord.domain.person import Person
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.domain.text.plain import visible
from overlord.domain.text.reference import draft_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Digest, Everything, Json, numbered
from overlord.entrypoints.cli.verb_command import verb_command
from overlord.entrypoints.terminal.show import age, as_json, line, person, show_command, show_text, table
from overlord.errors import Refused
from overlord.failpoints import Failpoint
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
    with state.reading() as connection:
        if number is not None:
            return _show_draft(drafts.get(connection, number), json=json)
        found = drafts.newest(connection) if everything else drafts.unfinished(connection)
    if json:
        as_json([{"draft": item, "verdict": item.verdict, "digest": item.digest} for item in found])
    elif not found:
        show_text("Nothing is drafted.")
    else:
        rows = [
            (item.label, item.state, item.verdict, item.space, item.title, age(item.requested_at))
            for item in found
        ]
        table(("id", "state", "verdict", "repository", "what", "age"), rows)
    return None


def _show_draft(draft: SkillDraft, *, json: bool) -> None:
    if json:
        as_json({"draft": draft, "verdict": draft.verdict, "digest": draft.digest})
        return
    show_text(f"draft {draft.label}, {draft.state.replace('_', ' ')}: {draft.title} in {draft.space}")
    if draft.path:
        show_text(f"{draft.path}{' would be deleted' if not draft.text else ''}")
    because = f": {draft.reason}" if draft.reason else ""
    show_text(line(f"asked for by {draft.requested_by}{because}"))
    if draft.text:
        rows = "\n".join(f"  | {row}" for row in draft.text.splitlines())
        show_text(f"\n{rows}\n")
    show_text(f"verdict: {draft.verdict}")
    for item in draft.findings:
        place = f" line {item.line}" if item.line else ""
        show_text(line(f"  {item.level} {item.rule}{place}: {item.message}"))
    note = "merged, and not as it was approved" if draft.is_altered else "note"
    for label, words in (("an edit was not taken", draft.trouble), (note, draft.note)):
        if words:
            show_text(line(f"{label}: {words}"))
    if draft.issue_number is not None:
        show_text(f"its issue is {draft.space}#{draft.issue_number}")
    if draft.edited_by:
        show_text(line(f"edited by {draft.edited_by}"))
    if draft.decided_by:
        verb = "rejected" if draft.state is DraftState.REJECTED else "approved"
        show_text(line(f"{verb} by {draft.decided_by}{f': {draft.said}' if draft.said else ''}"))
    if draft.is_editable:
        show_command(f"skills edit {draft.label}")
    if draft.is_approvable:
        show_command(f"skills approve {draft.label} --digest {draft.digest}")


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
        raise Refused(f"{error}; your text is in {place}") from None
    if edited.trouble:
        raise Refused(
            f"draft {edited.label} stays as it was: {edited.trouble}. Your text is in {place}, and"
            f" `overlord skills edit {edited.label}` goes on with it"
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
