"""`overlord ledger …`: is the record whole, and give it to me."""

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer

from overlord.domain.text.json_text import json_text
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import as_json, show_text
from overlord.errors import StoreError
from overlord.store import evidence, ledger

app = typer.Typer(help="The ledger: every fact, hash-chained.", no_args_is_help=True)


@app.command()
def verify(json: Json = False, _repo: Repo = "") -> None:
    """Check the chain from its first event, and every evidence file against its name."""
    files = evidence.EvidenceStore(state.home().evidence)
    with state.reading() as connection:
        wrong = list(ledger.problems(connection))
        head = ledger.head(connection)
        kept = evidence.exhibits(connection)
        length = sum(1 for _ in ledger.entries(connection))
    removed = [item for item in kept if item.removed_at is not None]
    for item in (item for item in kept if item.removed_at is None):
        try:
            files.get(item.sha256)
        except StoreError as error:
            wrong.append(f"{item.kind} of job {item.job_id}: {error}")
    if json:
        counts = {"events": length, "evidence": len(kept) - len(removed), "removed": len(removed)}
        as_json({**counts, "head": head, "problems": wrong})
    elif wrong:
        show_text("\n".join(wrong))
    else:
        gone = f"; {len(removed)} more were removed as `keep` says" if removed else ""
        show_text(f"{length} events and {len(kept) - len(removed)} evidence files, whole{gone}. Head {head}.")
    raise typer.Exit(1 if wrong else 0)


@app.command()
def export(
    job: Annotated[int | None, typer.Option(help="Only this job's events.")] = None,
    _repo: Repo = "",
) -> None:
    """Every event as a line of JSON, in order."""
    with state.reading() as connection:
        for entry in ledger.entries(connection, job_id=job):
            typer.echo(json_text({**asdict(entry), "data": jsonlib.loads(entry.data)}))
