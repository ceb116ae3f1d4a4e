"""`overlord backup` and `overlord restore`: everything that cannot be had again, in one file and out of it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.domain.text.plain import count, size_text
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import as_json, person, show_text
from overlord.errors import StoreError
from overlord.home import Home
from overlord.settings.env import check_socket_path, home_of

if TYPE_CHECKING:
    from overlord.entrypoints.backup.manifest import Manifest


def backup(
    file: Annotated[
        Path | None, typer.Argument(help="Where to write it; a file named for the time, here, if absent.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read a backup to its end instead, and compare it with its manifest."),
    ] = False,
    json: Json = False,
) -> None:
    """Write a backup, also while the daemon works: database, evidence, unfinished commits, the portfolio's files and overlord.yaml."""
    if verify:
        _verify(file, json=json)
        return
    from overlord.entrypoints.backup import making
    from overlord.entrypoints.backup.archive import file_name

    now = datetime.now(UTC)
    made = making.make(Home(home_of(environment())), (file or Path(file_name(now))).absolute(), at=now)
    if json:
        facts = made.manifest.model_dump(mode="json", exclude={"members"})
        as_json(
            {
                "file": made.file,
                "size": made.size,
                **facts,
                "missing": made.missing,
                "left_out": made.left_out,
            }
        )
        return
    show_text(f"{made.file}: {size_text(made.size)}, {_holds(made.manifest)}.")
    if made.missing:
        show_text(f"{count(len(made.missing), 'evidence file')} that the database names could not be found.")
    if made.left_out:
        show_text(
            f"Not in it, as they cannot be read (put plain files in their places): {', '.join(made.left_out)}."
        )
    show_text(
        "Keep it as safe as the home itself: issues, logs, and secrets that are written in overlord.yaml are in it."
    )


def _verify(file: Path | None, *, json: bool) -> None:
    from overlord.entrypoints.backup import restoring

    if file is None:
        raise typer.BadParameter("name the backup to verify")
    try:
        manifest = restoring.verify(file)
    except StoreError as error:
        if json:
            as_json({"file": file, "sound": False, "problem": str(error)})
        else:
            show_text(str(error))
        raise typer.Exit(1) from None
    if json:
        as_json({"file": file, "sound": True, **manifest.model_dump(mode="json", exclude={"members"})})
    else:
        show_text(f"{file} is whole: {_holds(manifest)}, written {manifest.created_at:%Y-%m-%d %H:%M} UTC.")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup that `overlord backup` wrote.")],
    home: Annotated[
        Path | None, typer.Option("--home", help="The folder to restore into; OVERLORD_HOME if absent.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a home of a backup. The home must not have a database; what is newer outside is adopted by the next start."""
    from overlord.entrypoints.backup import restoring

    root = home.expanduser().absolute() if home is not None else home_of(environment())
    check_socket_path(root)
    made = restoring.restore(file, Home(root), at=datetime.now(UTC), actor=person())
    if json:
        facts = made.manifest.model_dump(mode="json", exclude={"members"})
        as_json({"home": made.home, "settings": made.settings, **facts})
        return
    show_text(
        f"{made.home} is restored from {made.manifest.created_at:%Y-%m-%d %H:%M} UTC: {_holds(made.manifest)}."
    )
    if made.settings:
        show_text(made.settings)
    show_text("Keys and tokens are not in a backup: give them as before, then start `overlord serve`.")
    if root != home_of(environment()):
        show_text(f"Set OVERLORD_HOME={made.home} first.")


def _holds(manifest: "Manifest") -> str:
    from overlord.entrypoints.backup.manifest import digest_of, is_portfolio

    files = sum(digest_of(name) is not None for name in manifest.members)
    portfolio = sum(is_portfolio(name) for name in manifest.members)
    held = [f"the database (schema {manifest.schema_version})", count(files, "evidence file")]
    held += [count(portfolio, "file") + " of the portfolio"] if portfolio else []
    return f"{', '.join(held[:-1])} and {held[-1]}"
