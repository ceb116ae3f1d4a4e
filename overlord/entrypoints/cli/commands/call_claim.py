"""`overlord call verify|export|trailers`: what a call came to, for somebody else to check."""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.disciplines.call import read_ref
from overlord.domain.text.plain import visible
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.local.asking import can_ask
from overlord.entrypoints.terminal.show import as_json, line, show_text
from overlord.errors import Refused
from overlord.store.evidence import EvidenceStore

if TYPE_CHECKING:
    from overlord.entrypoints.claim.check import Checked
    from overlord.entrypoints.claim.planning import LaidOut
    from overlord.entrypoints.claim.record import Claim

Handles = Annotated[list[str], typer.Argument(metavar="CALL…", help="Calls by their handles, as c7.")]


MOST_NAMED = 20
"""As many files are shown before one is asked."""


def export(
    call: Annotated[str, typer.Argument(metavar="CALL", help="A call's handle: c7.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="The file to write; standard output if absent.")
    ] = None,
    _repo: Repo = "",
) -> None:
    """Write what a call came to as one file, with its evidence and its part of the ledger: a claim that anybody can check.

    It holds the call's arguments, what was run with its output, and the change.
    """
    text = _kept(call).text()
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"{output} cannot be written: {error.strerror}") from None
    show_text(f"Written to {output}. Whoever has it checks it: `overlord call verify {output}`")


def trailers(calls: Handles, _repo: Repo = "") -> None:
    """Print a line for each call, to end a commit's message with: what was called, whether it was verified, and its evidence."""
    for ref in calls:
        claim = _kept(ref)
        finding = "verified" if claim.result.verified else "not-verified"
        call = claim.call
        typer.echo(f"Overlord-Call: {call.ref} {call.discipline} {finding} sha256:{claim.result.evidence}")


def verify(  # noqa: PLR0917 - as it is typed
    claims: Annotated[
        list[str],
        typer.Argument(
            metavar="CLAIM…",
            help="Files of `call export`, or calls by their handles, in the order they were made.",
        ),
    ],
    checkout: Annotated[
        str, typer.Option(metavar="DIRECTORY", help="A checkout that the commit is in.")
    ] = ".",
    commit: Annotated[
        str, typer.Option(metavar="REVISION", help="Check that this commit holds what was written.")
    ] = "",
    rerun: Annotated[
        bool,
        typer.Option("--rerun", help="Run what they rest on once more, on copies of the commit's files."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run them without asking.")] = False,
    trust_claims: Annotated[
        bool,
        typer.Option(
            "--trust-claims", help="With --yes, also what files of claims bring: commands and code."
        ),
    ] = False,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Check claims: digests, the ledger's chain, the commit that holds them, and with --rerun their commands. 1 if one does not hold.

    With --rerun the repository's commands, and those and the code that claims bring, run as your own programs: use it on code that you
    would run yourself.
    """
    from overlord.entrypoints.claim.check import checked

    are_files = any(read_ref(item) is None for item in claims)
    if rerun and yes and are_files and not trust_claims:
        raise Refused(
            "files of claims bring commands and code of their own: run it without --yes to be shown them, or add --trust-claims"
        )
    found = [_kept(item) if read_ref(item) is not None else _read(item) for item in claims]
    lines = [line for claim in found for line in checked(claim)]
    if commit or rerun:
        agree = partial(_agree, yes=yes, show=_beside if json else show_text) if rerun else None
        lines += asyncio.run(_in_checkout(found, checkout, commit or "HEAD", agree))
    _show(lines, as_object=json)
    raise typer.Exit(0 if all(item.holds for item in lines) else 1)


def _show(lines: Sequence["Checked"], *, as_object: bool) -> None:
    if as_object:
        as_json({"holds": all(item.holds for item in lines), "checks": [asdict(item) for item in lines]})
        return
    for item in lines:
        show_text(f"{item.claim}: {'' if item.holds else 'WRONG: '}{line(item.text)}")


def _kept(ref: str) -> "Claim":
    from overlord.entrypoints.claim.making import claim_of

    if not state.home().database.exists() and (here := state.local_runs_here()):
        state.choose(here)
    files = EvidenceStore(state.home().evidence)
    with state.reading() as connection:
        return claim_of(connection, files, ref)


def _read(path: str) -> "Claim":
    from overlord.entrypoints.claim import record

    return record.read(Path(path))


async def _in_checkout(
    claims: Sequence["Claim"], directory: str, ref: str, agree: "Callable[[Sequence[LaidOut]], None] | None"
) -> list["Checked"]:
    """Hold claims against a commit; with `agree`, which raises Refused where a person does not, run once more what they rest on."""
    from overlord.entrypoints.claim import commit, planning
    from overlord.entrypoints.claim import rerun as again
    from overlord.entrypoints.local import checkout

    place = checkout.find(Path(directory))
    lines = await commit.checked(claims, place, ref)
    if agree is None:
        return lines
    with tempfile.TemporaryDirectory(prefix="overlord-claim-") as room:
        laid_out = await planning.lay_out(claims, place, ref, Path(room))
        agree(laid_out)
        return [*lines, *again.checked(laid_out, Path(room))]


def _agree(laid_out: Sequence["LaidOut"], *, yes: bool, show: Callable[[str], None]) -> None:
    """Say what would be run on what, and ask. Raises Refused."""
    commands = dict.fromkeys((item.command, item.step.directory) for laid in laid_out for item in laid.runs)
    if not commands:
        return
    files = dict.fromkeys(path for laid in laid_out for path in laid.taken_back)
    show("These commands run as your own programs, on copies of the commit's files:")
    for words, inside in commands:
        show(f"  {line(' '.join(words))}{f' (in {line(inside)})' if inside else ''}")
    if files:
        show(
            "In the copies these files are what the claims say they were before; that text is the claims' own:"
        )
        for path in list(files)[:MOST_NAMED]:
            show(f"  {line(path)}")
        if len(files) > MOST_NAMED:
            show(f"  and {len(files) - MOST_NAMED} more")
    if yes:
        return
    if not can_ask():
        raise Refused("there is no terminal to ask at; look at what is shown, and add --yes to have it run")
    if not typer.confirm("Run them?", err=True):
        raise Refused("nothing was run")


def _beside(text: str) -> None:
    """Show a text where it is no part of what a program reads."""
    typer.echo(visible(text), err=True)
