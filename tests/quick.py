"""Worlds and desks whose check sessions are played: for scenarios whose subject is not what the judge's commands say.

The Minion is the real one, in an interpreter of its own. A check session is answered by `tests/faults/player.py`, which speaks
the session API's protocol and calls the repository's test functions itself: a twentieth of the time of three runs of pytest and two of a linter.
"""

import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from tests.chatting import Talk, made_talk
from tests.faults.player import played
from tests.local import LocalSession, local_session
from tests.world import CALC, DEADLINE_S, TOOLCHAIN, World, made_world


def quick(world: World) -> World:
    """Play the check sessions of this world from its start on."""
    given = world.overrides.setdefault("process", {})
    given.setdefault("python", played(world.root, patience_s=DEADLINE_S, others=interpreter()))
    return world


def interpreter() -> Path:
    return TOOLCHAIN if TOOLCHAIN.exists() else Path(sys.executable)


@contextlib.asynccontextmanager
async def made_quick_world(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[World]:
    """As `made_world`, with played checks."""
    async with made_world(files, **overrides) as world:
        yield quick(world)


@contextlib.asynccontextmanager
async def made_quick_talk(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[Talk]:
    """As `made_talk`, with played checks."""
    async with made_talk(files, **overrides) as talk:
        quick(talk.world)
        yield talk


@contextlib.asynccontextmanager
async def quick_desk(
    files: Mapping[str, str | bytes] = CALC, *, kinds: str = "check"
) -> AsyncIterator[LocalSession]:
    """As `desk`, with played checks (and setups, with `check|setup`), and commands that need not import everything first."""
    async with local_session(files) as user:
        user.python = played(user.root, patience_s=DEADLINE_S, others=interpreter(), kinds=kinds)
        user.is_warm = True
        yield user
