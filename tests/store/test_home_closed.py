"""The home is its owner's alone, and nobody else can guess where a session's socket is."""

import os
import stat
from pathlib import Path

import pytest

from overlord.domain.session import socket_name
from overlord.errors import StoreError
from overlord.home import Home
from overlord.store.database import Database, close_to_others


async def test_a_home_that_was_open_to_others_is_closed_when_the_daemon_starts(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    database = await Database.open(home / "overlord.db", exclusive=True)
    await database.close()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_home_of_another_user_is_refused_with_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(StoreError, match=rf"belongs to uid {os.geteuid()} .*chown -R 4711 "):
        close_to_others(tmp_path, uid=4711)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_names_of_sessions_directories_are_each_homes_own_and_outlive_the_daemon(tmp_path: Path) -> None:
    one, other = Home(tmp_path / "one"), Home(tmp_path / "other")
    one.root.mkdir()
    other.root.mkdir()
    name = one.session_api("j1-work-1").name
    assert name == Home(one.root).session_api("j1-work-1").name
    assert name not in (other.session_api("j1-work-1").name, socket_name("j1-work-1", b""))
    [key] = list(one.root.iterdir())
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_session_that_an_older_version_began_keeps_its_directory(tmp_path: Path) -> None:
    home = Home(tmp_path)
    older = home.session_apis / socket_name("j1-work-1", b"")
    older.mkdir(parents=True)
    assert home.session_api("j1-work-1") == older
