"""`overlord training export`: what jobs that ended are good for beyond themselves, as files for a trainer of models."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from overlord.domain.text.plain import count, size_text
from overlord.domain.text.reference import is_full_name
from overlord.domain.training.licence import LICENCE_FILES, UNKNOWN, licence_of
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import as_json, show_text
from overlord.entrypoints.training.reading import Format, Reader
from overlord.entrypoints.training.writing import CARD, Export, check_free, write_export
from overlord.errors import OverlordError

app = typer.Typer(help="Training data from jobs that ended.", no_args_is_help=True)


@app.callback()
def training() -> None:
    """Training data from jobs that ended."""


@app.command()
def export(
    form: Annotated[
        Format, typer.Option("--format", help="sft, dpo, kto, or messages: whole conversations with tools.")
    ],
    since: Annotated[
        str,
        typer.Option(
            metavar="DATE", help="Jobs that ended on this day (2026-03-02) or later; all if absent."
        ),
    ] = "",
    space: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="Of this repository alone, also one that was removed.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", help="The directory to write; `training-FORMAT` here if absent."),
    ] = None,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Write records for a trainer of models, with a card that says what they are, from where, and under which licences."""
    from importlib.metadata import version

    from overlord.domain.text.redaction import Redactor
    from overlord.entrypoints.training.card import Card
    from overlord.store.evidence import EvidenceStore

    day = _day(since)
    if space and not is_full_name(space):
        raise typer.BadParameter("name a repository as owner/name", param_hint="--space")
    place = output if output is not None else Path(f"training-{form}")
    check_free(place)
    settings, _ = state.settings_or_why()
    card = Card(
        since=day, space=space, made_at=datetime.now(UTC), version=version("overlord"), licence=_licence_at
    )
    with state.reading() as connection:
        reader = Reader(
            connection=connection,
            store=EvidenceStore(state.home().evidence),
            redactor=Redactor(settings.secrets()),
            format=form,
        )
        made = write_export(place, form, reader.lines(since=day, space=space), card.text)
    _show(place, made, json=json)


def _show(place: Path, made: Export, *, json: bool) -> None:
    if json:
        as_json(
            {
                "directory": place,
                "file": made.file,
                "records": made.records,
                "jobs": made.jobs,
                "size": made.size,
                "sha256": made.sha256,
                "left_out": dict(sorted(made.left_out.items())),
                "same": made.same,
            }
        )
        return
    left = sum(made.left_out.values()) + made.same
    more = f"; {count(left, 'more')} left out, as {CARD} says" if left else ""
    show_text(
        f"{place}: {count(made.records, 'record')} of {count(made.jobs, 'job')}, {size_text(made.size)}{more}."
    )
    show_text(f"They hold code of the repositories: read {place / CARD} before you train on them.")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise typer.BadParameter("give a day as 2026-03-02", param_hint="--since") from None


def _licence_at(space: str, commit: str) -> str:
    """The licence of a repository at a commit, by this machine's mirror; nothing is fetched."""
    from overlord.entrypoints.mirror_commits import MirrorCommits

    try:
        mirrors = MirrorCommits(home=state.home(), extent=lambda name: state.settings().extent(name))
        files = mirrors.files(space, commit, LICENCE_FILES) if commit else {}
    except OverlordError:
        return UNKNOWN  # the commit is not there any more, or git does not answer
    found = sorted({licence_of(content.decode("utf-8", "replace")) for content in files.values()})
    known = [name for name in found if name != UNKNOWN]
    return " or ".join(known) or UNKNOWN
