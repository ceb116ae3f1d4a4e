"""What every verb of local runs needs: the place held by one process, its forge open, its settings, its people."""

import contextlib
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Repository
from overlord.entrypoints.local import model
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.interruption import INTERRUPTED, Interruption
from overlord.entrypoints.local.place import Place
from overlord.entrypoints.local.record import Record
from overlord.entrypoints.local.screen import Screen
from overlord.entrypoints.terminal.show import console, person
from overlord.errors import SettingsError
from overlord.failpoints import Failpoint
from overlord.settings.agents import resolved
from overlord.settings.load import Settings
from overlord.store.database import Database, open_reader, write_from_command

Result = TypeVar("Result")
PULLS_AFTER = 1_000_000
"""Runs are the issues of the place's forge: where its pull requests have numbers of their own, no run's number is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSession:
    """One command's hold on a place."""

    place: Place
    forge: EmbeddedForge
    screen: Screen
    environment: Mapping[str, str]
    interruption: Interruption
    json: bool

    def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Look at the place's Overlord, which does not run now."""
        with closing(open_reader(self.place.home.database)) as connection:
            return act(connection)

    def write(self, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
        return write_from_command(self.place.home.database, point, act)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def author(self) -> str:
        """The user as the forge knows them: the owner of everything there."""
        login = re.sub(r"[^A-Za-z0-9-]+", "-", person().removeprefix("cli:")).strip("-") or "me"
        return self.forge.add_user(login, association="OWNER").login

    async def settings(self, record: Record, forge_url: str = "") -> tuple[Settings, model.Choice]:
        """The settings a run is worked with. Raises SettingsError, also when there is no model for it."""
        plain = self.place.settings(self.environment)
        if record.agent and (trouble := _agent_trouble(plain, record.agent)):
            raise SettingsError(f"--agent {record.agent}: {trouble}")
        choice = await model.choose(plain, record.model, self.environment)
        overrides: dict[str, Any] = {
            "model": choice.settings,
            "forge": {"api_url": forge_url or plain.forge.api_url, "token": self.forge.token},
        }
        known = [*(item for item in records.every(self.place) if item.number != record.number), record]
        scopes = {item.number: list(item.scope) for item in known if item.scope}
        agents = {
            item.number: item.agent for item in known if item.agent and not _agent_trouble(plain, item.agent)
        }
        own: dict[str, Any] = {"issue_scopes": scopes} if scopes else {}
        own |= {"issue_agents": agents} if agents else {}
        if own:
            overrides["spaces"] = {self.place.repository: own}
        if record.runner:
            overrides["runner"] = record.runner
        if record.budget_usd is not None:
            overrides["budget"] = {"job_usd": record.budget_usd}
        return self.place.settings(self.environment, **overrides), choice


@contextlib.asynccontextmanager
async def sit_down(
    place: Place, screen: Screen, environment: Mapping[str, str], *, json: bool
) -> AsyncIterator[LocalSession]:
    """Hold the place. Raises Refused when another process does, StoreError for a damaged database."""
    interruption = Interruption(_leave)
    with place.locked(), interruption.listening():
        await (await Database.open(place.home.database, exclusive=True)).close()
        forge = EmbeddedForge(place.forge)
        forge.pulls_after = PULLS_AFTER
        try:
            if forge.records.get(Repository, place.repository) is None:
                await forge.create_repository(place.repository)
            yield LocalSession(
                place=place,
                forge=forge,
                screen=screen,
                environment=environment,
                interruption=interruption,
                json=json,
            )
        finally:
            forge.close()


def _agent_trouble(settings: Settings, name: str) -> str:
    """Why nobody can work by this name; empty where somebody can. An earlier run may name one that the settings had then."""
    try:
        resolved(name, settings.agents)
    except ValueError as error:
        return str(error)
    return ""


def _leave() -> None:
    """At once: whatever runs is found again by `resume`."""
    console.show_cursor(True)
    os._exit(INTERRUPTED)
