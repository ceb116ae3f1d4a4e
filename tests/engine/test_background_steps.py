"""Steps under way: nothing that is wanted of them is forgotten, and nothing they did not find wakes anybody."""

import asyncio

import pytest

from overlord.engine.runtime.background_steps import BackgroundSteps
from overlord.engine.runtime.progress import Progress


class Looks:
    """A step that looks whether something is there and takes its time to say so, until it is let go."""

    def __init__(self) -> None:
        self.fact = False
        self.saw: list[bool] = []
        self.go = asyncio.Event()

    async def __call__(self) -> Progress:
        self.saw.append(self.fact)
        found = self.fact
        await self.go.wait()
        return Progress.of(found)


class Rung:
    """How often somebody was woken."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


async def test_what_happens_while_a_step_looks_is_looked_at_as_soon_as_that_has_ended() -> None:
    notified, look = Rung(), Looks()
    background_steps = BackgroundSteps(notified)
    background_steps.start("job 1", look)
    assert not await background_steps.news()
    look.fact = True
    background_steps.start("job 1", look)  # the pass that this woke
    assert not await background_steps.news()
    look.go.set()
    await background_steps.rest()
    assert (look.saw, notified.times) == ([False, True], 1)


async def test_a_step_that_ended_between_two_passes_is_begun_again_by_the_second() -> None:
    notified, look = Rung(), Looks()
    background_steps = BackgroundSteps(notified)
    background_steps.start("job 1", look)
    assert not await background_steps.news()
    look.go.set()
    await background_steps.rest()
    look.fact = True
    background_steps.start("job 1", look)
    assert await background_steps.news()
    assert (look.saw, notified.times) == ([False, True], 0)


async def test_slow_looks_that_find_nothing_wake_nobody_however_they_overlap() -> None:
    notified, looks = Rung(), {f"job {number}": Looks() for number in range(5)}
    background_steps = BackgroundSteps(notified)
    for _ in range(3):
        for key, look in looks.items():
            background_steps.start(key, look)
        assert not await background_steps.news()
    for look in looks.values():
        look.go.set()
        await asyncio.sleep(0)
    await background_steps.rest()
    assert notified.times == 0
    assert [len(look.saw) for look in looks.values()] == [2] * 5, (
        "once, and once for all that was wanted since"
    )


async def test_what_has_moved_something_is_for_the_next_pass_to_look_at_again() -> None:
    notified, look = Rung(), Looks()
    background_steps = BackgroundSteps(notified)
    look.fact = True
    background_steps.start("job 1", look)
    assert not await background_steps.news()
    background_steps.start("job 1", look)
    look.go.set()
    await background_steps.rest()
    assert (look.saw, notified.times) == ([True], 1)


async def test_what_moved_is_not_kept_waiting_by_what_takes_its_time() -> None:
    notified, slow, quick = Rung(), Looks(), Looks()
    background_steps = BackgroundSteps(notified)
    quick.fact = True
    quick.go.set()
    background_steps.start("job 1", slow)
    background_steps.start("job 2", quick)
    assert await background_steps.news()
    assert background_steps.is_under_way("job 1")
    slow.go.set()
    await background_steps.rest()
    assert notified.times == 0


async def test_what_a_late_step_raises_wakes_the_loop_which_meets_it() -> None:
    notified, go = Rung(), asyncio.Event()
    background_steps = BackgroundSteps(notified)

    async def fail() -> Progress:
        await go.wait()
        raise LookupError("over")

    background_steps.start("job 1", fail)
    assert not await background_steps.news()
    go.set()
    await background_steps.rest()
    assert notified.times == 1
    with pytest.raises(LookupError, match="over"):
        await background_steps.news()


async def test_nothing_that_waits_for_its_turn_is_begun_by_closing() -> None:
    background_steps, look = BackgroundSteps(Rung()), Looks()
    background_steps.start("job 1", look)
    await background_steps.news()
    background_steps.start("job 1", look)
    look.go.set()
    await background_steps.close()
    assert (look.saw, background_steps.is_idle) == ([False], True)
