"""Turning an Overlord's loop by hand: time passes only when nothing else can happen, so that nothing is waited for."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from overlord.app import Overlord
from overlord.domain.job import JobState
from overlord.engine.chat import message_projection
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.engine.sessions import capacity
from overlord.store import jobs, sessions
from overlord.store.chat import requests

ACTIVE = {JobState.QUEUED, JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING}


class WorldClock:
    """Time that passes only when a scenario says so."""

    def __init__(self, now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def move(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock, or the machine wakes up: no time has passed that a program could have used."""
        self._now += timedelta(seconds=seconds)

    def restart(self) -> None:
        """The machine starts anew, and counts from there."""
        self._monotonic = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """An Overlord whose loop nobody else runs, and the clock it was built with."""

    overlord: Overlord
    clock: WorldClock
    deadline_s: float

    async def until(self, condition: Callable[[], Any]) -> None:
        """Turn the loop until `condition` (sync or async) holds; waiting is for rings of the wakeup, not for time."""
        async with asyncio.timeout(self.deadline_s):
            while True:
                seen = self.overlord.watchers.count
                if await self.overlord.turn() or await self._rang(seen):
                    continue
                holds = condition()
                if asyncio.iscoroutine(holds):
                    holds = await holds
                if holds:
                    return
                await self._wait(seen)

    async def settle(self) -> None:
        """Until every job waits for people or has ended."""
        self.clock.move(interval_s(self.overlord.parts.settings) + 1)
        await self.until(self.is_settled)

    async def follow(self) -> None:
        """Ring the wakeup for every session that ends; a task beside the turning."""
        async for _ in self.overlord.parts.runner.follow():
            self.overlord.wakeup.notify()

    async def is_settled(self) -> bool:
        open_jobs = await self.overlord.parts.database.read(jobs.open_jobs)
        parts = self.overlord.parts
        moving = [
            job
            for job in open_jobs
            if job.state in ACTIVE and job.reason != capacity.no_pull_left(parts, job.space)
        ]
        return not moving and not await self.is_live() and not await self.is_talking()

    async def is_talking(self) -> bool:
        """Whether somebody waits for an answer in the chat, or something is still to be said there."""
        chat_output = self.overlord.parts.chat_output
        if chat_output is None:
            return False
        return await self.overlord.parts.database.read(
            lambda c: bool(requests.unanswered(c)) or message_projection.is_behind(c, chat_output)
        )

    async def runs(self) -> bool:
        """Whether the program of a session runs; that of a live one may be over, and its job put off."""
        return any(running.ending is None for running in await self.overlord.parts.runner.sessions())

    async def is_live(self) -> bool:
        return bool(await self.overlord.parts.database.read(sessions.live))

    async def _wait(self, seen: int) -> None:
        chat_output, delay = self.overlord.parts.chat_output, self.overlord.tick.next_delay_s()
        if chat_output is not None and delay is not None and delay == chat_output.wait_s():
            self.clock.move(delay)  # the chat's pace, which nobody works by
            return
        if delay is not None and not await self.runs():
            self.clock.move(delay + 0.1)
            return
        await self.overlord.watchers.wait(seen, timeout_s=1.0)

    async def _rang(self, seen: int) -> bool:
        """Let the steps that take their time come to an end, or something ring; whether another pass is worth it."""
        tick, watchers = self.overlord.tick, self.overlord.watchers
        rest = asyncio.create_task(tick.rest())
        notified = asyncio.create_task(watchers.wait(seen, timeout_s=1.0))
        await asyncio.wait({rest, notified}, return_when=asyncio.FIRST_COMPLETED)
        for task in (rest, notified):
            task.cancel()
        await asyncio.gather(rest, notified, return_exceptions=True)
        return watchers.count != seen or not tick.is_idle
