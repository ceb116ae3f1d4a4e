"""Reaching the state beside a running daemon: read what it wrote, write a fact, ring its wakeup.

The state is that of OVERLORD_HOME, or with `--repo` that of a repository's local runs.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from overlord import wakeup
from overlord.domain.text.reference import Target, space_named, target_in
from overlord.entrypoints.invocation import check_here, choose_repository, chosen_repository
from overlord.entrypoints.process_environment import environment
from overlord.errors import ContractError, OverlordError, SettingsError, StoreError
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.settings.env import home_of
from overlord.store.database import open_reader, write_from_command
from overlord.store.schema.migrations import migrate
from overlord.store.spaces import managed, spaces

if TYPE_CHECKING:
    from overlord.queries.look import Commits
    from overlord.settings.load import Settings

Result = TypeVar("Result")


def choose(repository: str) -> str:
    """From here on, the state is that of this repository's local runs; of OVERLORD_HOME itself for ""."""
    return choose_repository(repository)


Repo = Annotated[
    str,
    typer.Option(
        "--repo", callback=choose, help="Look at the local runs of this repository (`overlord run`)."
    ),
]


def is_local() -> bool:
    """Whether it is the state of a repository's local runs, where there are branches and no pull requests."""
    return bool(chosen_repository())


def local_runs_here() -> str:
    """The repository around the working directory as `--repo` takes it, where something was run in it and none was named; else ""."""
    if chosen_repository():
        return ""
    if not (home_of(environment()) / "local").is_dir():
        return ""
    from overlord.entrypoints.local.place import HERE, place_of

    try:
        return HERE if place_of(HERE, environment()).home.database.exists() else ""
    except OverlordError:
        return ""  # it is no repository


def home() -> Home:
    """Where the state is kept, whether the settings load or not. Raises Refused where a daemon elsewhere was named."""
    check_here("this command")
    if not chosen_repository():
        return Home(home_of(environment()))
    from overlord.entrypoints.local.place import place_of

    return place_of(chosen_repository(), environment()).home


def settings() -> "Settings":
    """The settings, with the repositories that people added by command."""
    loaded = loaded_settings()
    if not home().database.exists():
        return loaded
    from overlord.settings.load import with_added

    with reading() as connection:
        return with_added(loaded, managed.added(connection))


def loaded_settings() -> "Settings":
    """The settings as file and environment have them. Raises Refused where a daemon elsewhere was named."""
    check_here("this command")
    if not chosen_repository():
        from overlord.settings.load import load

        return load(environment())
    from overlord.entrypoints.local.place import place_of

    return place_of(chosen_repository(), environment()).settings(environment())


def commits() -> "Commits":
    """What queries read of commits: of this home's mirrors, as they are."""
    from overlord.entrypoints.mirror_commits import MirrorCommits

    return MirrorCommits(home=home(), extent=lambda name: settings().extent(name))


def settings_or_why() -> "tuple[Settings, str]":
    """The settings; where they do not load, those without the user's file over every repository that was ever looked at,
    and why."""
    try:
        return settings(), ""
    except (SettingsError, ContractError) as error:
        place = home()
        if not place.database.exists():
            raise
        with reading() as connection:
            names = sorted(spaces.noted(connection))
        plain = {"OVERLORD_HOME": str(place.root), "OVERLORD_CONFIG": os.devnull}
        from overlord.settings.load import load

        return load(plain, repositories=names), str(error)


@contextmanager
def reading(*, needs_state: bool = True) -> Iterator[sqlite3.Connection]:
    """One consistent view of the database. Raises StoreError when there is none, where it is needed; else it is empty."""
    path = home().database
    if not needs_state and not path.exists():
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            migrate(connection)
            yield connection
        return
    if (named := chosen_repository()) and not path.exists():
        raise StoreError(f'nothing was run in {named} yet; `overlord run "what you want"` starts something')
    with closing(open_reader(path)) as connection:
        try:
            connection.execute("BEGIN")
            yield connection
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{path} cannot be used: {error}") from error


def write(point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """Write a fact in one transaction and wake the daemon."""
    place = home()
    result = write_from_command(place.database, point, act)
    wakeup.notify(place.wakeup)
    return result


def is_heard() -> bool:
    """Whether a daemon listens to what is written now."""
    return wakeup.is_heard(home().wakeup)


def space(text: str | None) -> str:
    """The repository managed by Overlord that is meant. Raises NotFound, or Refused where it could be several."""
    return space_named(text, settings().repositories)


def target(text: str) -> Target:
    """A job or an issue, as it was typed. Raises typer.BadParameter, which is wrong usage."""
    found = target_in(text)
    if found is None:
        raise typer.BadParameter("give a job's number, or an issue as '#42', owner/repo#42 or its address")
    return found


Meant = Annotated[str, typer.Argument(help="A job's number, or an issue: '#42', owner/repo#42, its address.")]
