"""Ctrl-C at a terminal, in whatever is under way: it ends in a sentence, shows no traceback and leaves nothing running."""

from pathlib import Path

import pytest

from overlord.embedded.play import silence
from tests.local import Terminal
from tests.quick import quick_desk

TITLE = "Fix add()"


def is_clean(at: Terminal) -> bool:
    return "Traceback" not in at.shown and "Error" not in at.shown


@pytest.mark.parametrize("times", [1, 2])
async def test_a_run_whose_model_hangs_ends_without_a_traceback(times: int) -> None:
    async with quick_desk() as user:
        user.model.will(silence())
        at = await user.terminal("run", TITLE)
        await user.until(lambda: bool(user.model.requests))
        for _ in range(times):
            at.type("\x03")
            await at.until("leaves at once")
        assert await at.ended() == 130
        assert is_clean(at), at.shown


async def test_a_demo_that_is_stopped_stops_its_sessions_and_says_where_it_was() -> None:
    async with quick_desk() as user:
        at = await user.terminal("demo", "--runner", "process", environment={"TMPDIR": str(user.root)})
        await at.until("turn 1")
        at.type("\x03")
        assert await at.ended() == 130
        assert is_clean(at), at.shown
        [home] = user.root.glob("overlord-demo-*")
        assert f"Stopped. What it made is in {home}" in at.shown
        assert not _of(str(home))


async def test_a_demo_at_a_terminal_leaves_its_gate_to_whoever_is_there() -> None:
    async with quick_desk() as user:
        words = ("demo", "--runner", "process", "--contract", "plan-first")
        at = await user.terminal(*words, environment={"TMPDIR": str(user.root)})
        await at.until("The gate waits for you.")
        await at.until("reject 1 'what has to change'")
        at.type("\x03")
        assert await at.ended() == 130
        assert "the demo approves it" not in at.shown and "was answered" not in at.shown


def _of(home: str) -> list[str]:
    """The commands that name a home."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if home.encode() in words:
            found.append(words.decode(errors="replace"))
    return found
