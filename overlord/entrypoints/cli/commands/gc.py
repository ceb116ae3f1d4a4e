"""`overlord gc`: the retention a daemon does once a day, now, and what it comes to."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from overlord import wakeup
from overlord.domain.retention_item import RetentionItem, total
from overlord.domain.text.plain import count, size_text
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.terminal.show import as_json, person, show_text, table
from overlord.errors import ExternalServiceError, SettingsError
from overlord.home import Home
from overlord.settings.load import Settings
from overlord.store.database import Database, open_reader
from overlord.store.evidence import EvidenceStore

if TYPE_CHECKING:
    from overlord.ports.runner import Runner


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove now what is kept no longer, as `keep` and `environments` in the settings say; the daemon does it once a day.

    Mirrors are packed by the daemon alone, who knows what its jobs are at: it is asked to.
    """
    found, left_alone = asyncio.run(_clear(state.settings(), dry_run=dry_run))
    is_asked = not dry_run and _ask(state.home())
    if json:
        facts = {"removed": not dry_run, "bytes": total(found), "leavings": found}
        as_json({**facts, "left_alone": left_alone, "mirrors_asked": is_asked})
        return
    if found:
        table(("what", "", "size", "why"), [_row(item) for item in found])
    word = "would be removed" if dry_run else "removed"
    show_text(f"{count(len(found), 'thing')} {word}, {size_text(total(found))}.")
    if left_alone:
        show_text(f"Environments and downloads were left alone: {left_alone}.")
    if is_asked:
        show_text("The daemon was asked to tidy the mirrors.")


def _ask(home: Home) -> bool:
    """Ask the daemon that runs to tidy mirrors, if it has any; one that does not run does so when it starts."""
    if not state.is_heard() or next(home.mirrors.glob("*/*.git"), None) is None:
        return False
    home.keep_asked.touch(mode=0o600)
    wakeup.notify(home.wakeup)
    return True


async def _clear(settings: Settings, *, dry_run: bool) -> tuple[Sequence[RetentionItem], str]:
    from overlord.adapters.clock import SystemClock
    from overlord.adapters.git.mirrors import GitMirrors
    from overlord.engine.retention import clear_up
    from overlord.engine.runtime.parts import Caretaker

    home = Home(settings.home)
    open_reader(home.database).close()  # not another version's, and there is one
    async with AsyncExitStack() as stack:
        database = await Database.open(home.database, exclusive=False)
        stack.push_async_callback(database.close)
        runner, left_alone = await _runner(settings, stack, database)
        caretaker = Caretaker(
            settings=settings,
            home=home,
            database=database,
            evidence=EvidenceStore(home.evidence),
            git=GitMirrors(home, extent=settings.extent),
            runner=runner,
            clock=SystemClock(),
            actor=person(),
        )
        if dry_run:
            return await clear_up.look(caretaker), left_alone
        return await clear_up.clear(caretaker), left_alone


async def _runner(
    settings: Settings, stack: AsyncExitStack, database: Database
) -> "tuple[Runner | None, str]":
    """All that the daemon would have: an environment is forgotten once none of them has it. None where one of them
    cannot be asked, and why."""
    from overlord.app import choose_runners
    from overlord.settings.current import CurrentSettings

    try:
        return await choose_runners(
            CurrentSettings(settings), stack, epoch=0, check=database.check_held, falls_back=True
        ), ""
    except (SettingsError, ExternalServiceError) as error:
        return None, str(error)


def _row(item: RetentionItem) -> tuple[str, ...]:
    return (item.kind, item.name[:50], size_text(item.size) if item.size else "", item.why)
