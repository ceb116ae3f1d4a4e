"""Steps under way: nothing that is wanted of them is forgotten, and nothing they did not find wakes anybody."""

import asyncio

import pytest

from overlord.engine.runtime.background_steps import Errands


class Looks:
    """A step that looks whether something is there and takes its time to say so, until it is let go."""

    def __init__(self) -> None:
        self.fact = False
        self.saw: list[bool] = []
        self.go = asyncio.Event()

    async def __call__(self) -> bool:
        self.saw.append(self.fact)
        found = self.fact
        await self.go.wait()
        return found


class Rung:
    """How often somebody was woken."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


async def test_what_happens_while_a_step_looks_is_looked_at_as_soon_as_that_has_ended() -> None:
    rung, look = Rung(), Looks()
    errands = Errands(rung)
    errands.start("job 1", look)
    assert not await errands.news()
    look.fact = True
    errands.start("job 1", look)  # the pass that this woke
    assert not await errands.news()
    look.go.set()
    await errands.rest()
    assert (look.saw, rung.times) == ([False, True], 1)


async def test_a_step_that_ended_between_two_passes_is_begun_again_by_the_second() -> None:
    rung, look = Rung(), Looks()
    errands = Errands(rung)
    errands.start("job 1", look)
    assert not await errands.news()
    look.go.set()
    await errands.rest()
    look.fact = True
    errands.start("job 1", look)
    assert await errands.news()
    assert (look.saw, rung.times) == ([False, True], 0)


async def test_slow_looks_that_find_nothing_wake_nobody_however_they_overlap() -> None:
    rung, looks = Rung(), {f"job {number}": Looks() for number in range(5)}
    errands = Errands(rung)
    for _ in range(3):
        for key, look in looks.items():
            errands.start(key, look)
        assert not await errands.news()
    for look in looks.values():
        look.go.set()
        await asyncio.sleep(0)
    await errands.rest()
    assert rung.times == 0
    assert [len(look.saw) for look in looks.values()] == [2] * 5, (
        "once, and once for all that was wanted since"
    )


async def test_what_has_moved_something_is_for_the_next_pass_to_look_at_again() -> None:
    rung, look = Rung(), Looks()
    errands = Errands(rung)
    look.fact = True
    errands.start("job 1", look)
    assert not await errands.news()
    errands.start("job 1", look)
    look.go.set()
    await errands.rest()
    assert (look.saw, rung.times) == ([True], 1)


async def test_what_moved_is_not_kept_waiting_by_what_takes_its_time() -> None:
    rung, slow, quick = Rung(), Looks(), Looks()
    errands = Errands(rung)
    quick.fact = True
    quick.go.set()
    errands.start("job 1", slow)
    errands.start("job 2", quick)
    assert await errands.news()
    assert errands.is_under_way("job 1")
    slow.go.set()
    await errands.rest()
    assert rung.times == 0


async def test_what_a_late_step_raises_wakes_the_loop_which_meets_it() -> None:
    rung, go = Rung(), asyncio.Event()
    errands = Errands(rung)

    async def fail() -> bool:
        await go.wait()
        raise LookupError("over")

    errands.start("job 1", fail)
    assert not await errands.news()
    go.set()
    await errands.rest()
    assert rung.times == 1
    with pytest.raises(LookupError, match="over"):
        await errands.news()


async def test_nothing_that_waits_for_its_turn_is_begun_by_closing() -> None:
    errands, look = Errands(Rung()), Looks()
    errands.start("job 1", look)
    await errands.news()
    errands.start("job 1", look)
    look.go.set()
    await errands.close()
    assert (look.saw, errands.is_idle) == ([False], True)
