"""The command line on a home that the store has filled."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.main import run
from overlord.home import Home
from tests.stored import opened


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Overlord = Callable[..., Said]
Filled = Callable[[Callable[[sqlite3.Connection], object]], Home]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with nothing in it, and an environment that names it."""
    place = Home(tmp_path / "home")
    for name, value in {
        "OVERLORD_HOME": str(place.root),
        "OVERLORD_COMMAND": "overlord",  # how it is typed elsewhere: test_pasted
        "OVERLORD_REPOS": "acme/calc",
        "OPENAI_API_KEY": "sk-canary-0123456789",
        "GITHUB_TOKEN": "ghp_canary0123456789",
        "COLUMNS": "200",
        "USER": "alice",
        "LOGNAME": "alice",
    }.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.fixture
def filled(home: Home) -> Filled:
    """Write something into the home's database, as the daemon would; the daemon is gone afterwards."""

    def filling(act: Callable[[sqlite3.Connection], object]) -> Home:
        async def write() -> None:
            async with opened(home.database) as database:
                await database.write("by hand", act)

        asyncio.run(write())
        return home

    return filling


@pytest.fixture
def overlord(home: Home, capsys: pytest.CaptureFixture[str]) -> Overlord:
    """Type `overlord …`."""

    def typed(*words: str) -> Said:
        try:
            code: object = run(lambda: app(list(words)))
        except SystemExit as ending:
            code = ending.code or 0
        out, err = capsys.readouterr()
        assert isinstance(code, int)
        return Said(code, out, err)

    return typed
