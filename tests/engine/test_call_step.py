"""A step of a call that fails, in whatever way: tried again for some minutes, then the call's result; never without an end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.disciplines.call import CallState, CallStatus
from overlord.domain.event import EventName
from overlord.engine.disciplines import call_step
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.retry import RETRY_LATER
from overlord.errors import Fenced, GitFailed, IllegalMove, StoreError
from overlord.store import jobs
from tests.called import called, current, request
from tests.memory.world import MemoryWorld, made_memory_world

CALC = {"calc.py": "def add(a, b):\n    return a + b\n"}


class _Breaks:
    """Git whose mirrors cannot be refreshed, each time for another reason where the error has a place for a number."""

    def __init__(self, real: Any, error: Exception) -> None:
        self._real, self._error, self.asked = real, error, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def refresh_mirror(self, *_given: Any, **_more: Any) -> None:
        self.asked += 1
        raise type(self._error)(str(self._error).replace("%", str(self.asked)))


@asynccontextmanager
async def broken(error: Exception) -> AsyncIterator[MemoryWorld]:
    async with made_memory_world(CALC, before={"git": lambda real: _Breaks(real, error)}) as world:
        await world.start()
        yield world


ERRORS = [
    GitFailed("the mirror is broken"),
    StoreError("a file is damaged"),
    ValueError("a scope does not parse"),
    KeyError("gone"),
    TypeError("no text"),
    RuntimeError("no loop"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_what_fails_for_good_is_tried_again_for_some_minutes_and_is_then_the_result(
    error: Exception,
) -> None:
    async with broken(error) as world:
        began = world.clock.now()
        call = await called(world, "review", files=["calc.py"])
        assert call.result is not None, call
        assert (call.result.status, call.result.verified) == (CallStatus.ERROR, False)
        assert str(error).strip("'") in call.result.message
        assert call_step.PATIENCE <= world.clock.now() - began < 3 * call_step.PATIENCE


async def test_other_words_for_what_fails_begin_no_new_patience() -> None:
    async with broken(GitFailed("the mirror is broken, try %")) as world:
        call = await called(world, "review", files=["calc.py"])
        assert call.result is not None
        entries = await world.events(call.job_id or 0)
        tries = entries.count(EventName.STEP_FAILED)
        assert f"try {tries + 1}" in call.result.message
        began, ended = call.created_at, call.ended_at
        assert ended is not None
        assert call_step.PATIENCE <= ended - began < 2.5 * call_step.PATIENCE


async def _put_off(world: MemoryWorld, number: int, failures: int, words: str) -> None:
    """A step of the call's job failed, as the tick writes it down."""
    await world.overlord.parts.database.write(
        "by hand",
        lambda c: jobs.note(
            c,
            number,
            EventName.STEP_FAILED,
            at=world.clock.now(),
            data={"trouble": words, "failures": failures},
            reason=f"{RETRY_LATER}{words}",
        ),
    )


async def _step(world: MemoryWorld, error: Exception) -> None:
    parts = world.overlord.parts
    job = await parts.database.read(lambda c: jobs.open_jobs(c)[0])
    broken_git: Parts = replace(parts, git=_Breaks(parts.git, error))
    await call_step.step(broken_git, job)


async def test_patience_is_counted_from_the_first_failure_in_a_row() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        call = await request(world, "review", files=["calc.py"])
        number = call.job_id or 0
        await _put_off(world, number, 1, "an older trouble")
        world.clock.move(3600)
        await _put_off(world, number, 1, "one")
        world.clock.move(call_step.PATIENCE.total_seconds() - 1)
        await _put_off(world, number, 2, "two")
        with pytest.raises(GitFailed):
            await _step(world, GitFailed("three"))
        world.clock.move(1)
        await _step(world, GitFailed("three"))
        ended = await current(world, call)
        assert ended.result is not None and ended.result.message == "three"


@pytest.mark.parametrize("error", [Fenced("over"), IllegalMove("moved")], ids=["fenced", "moved"])
async def test_what_is_nobodys_trouble_ends_no_call(error: Exception) -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        call = await request(world, "review", files=["calc.py"])
        await _put_off(world, call.job_id or 0, 1, "one")
        world.clock.move(3600)
        with pytest.raises(type(error)):
            await _step(world, error)
        assert (await current(world, call)).state is CallState.OPEN


async def test_a_model_that_is_gone_from_the_settings_is_the_calls_result() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        call = await request(world, "review", files=["calc.py"])
        parts = world.overlord.parts
        await parts.database.write(
            "by hand", lambda c: c.execute("UPDATE calls SET model = 'away' WHERE id = ?", (call.id,))
        )
        await world.until(lambda: _is_over(world, call))
        ended = await current(world, call)
        assert ended.result is not None and ended.result.status is CallStatus.ERROR
        assert "no model 'away' any more" in ended.result.message


async def _is_over(world: MemoryWorld, call: Any) -> bool:
    return (await current(world, call)).state is not CallState.OPEN
