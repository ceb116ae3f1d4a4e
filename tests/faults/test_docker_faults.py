"""Whole stories while the Docker engine below them goes down, comes back, hangs, or forgets to answer."""

import asyncio
import signal

import pytest

from overlord.domain.decision import Subject, Verb
from tests.faults.docker_proxy import Kind
from tests.faults.docker_stage import CHECK, WORK, Stage

pytestmark = pytest.mark.docker

CREATE = r"^POST /containers/create"
START = r"^POST /containers/[^/]+/start"
INSPECT = r"^GET /containers/[^/]+/json"
LOGS = r"^GET /containers/[^/]+/logs"
REMOVE = r"^DELETE /containers/"
LIST = r"^GET /containers/json"
ENDS = [signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize("number", ENDS)
async def test_an_engine_that_goes_down_takes_its_sessions_along_and_they_are_done_again(
    stage: Stage, number: signal.Signals
) -> None:
    await stage.begin()
    await stage.until_holding()
    await stage.down(number)
    await stage.up()
    await stage.until_holding("j1-work-2")
    stage.world.let_go("j1-work-2")
    await stage.until_started(CHECK)
    await stage.down(number)
    await stage.up()
    await stage.settle()
    assert await stage.sessions() == [WORK, "j1-work-2", CHECK, "j1-check-2"]
    await stage.check_delivered()


@pytest.mark.parametrize("number", ENDS)
async def test_with_live_restore_sessions_go_on_while_the_engine_is_down(
    stage: Stage, number: signal.Signals
) -> None:
    await asyncio.to_thread(stage.engine.end, signal.SIGTERM)
    await stage.up(live_restore=True)
    await stage.begin()
    await stage.until_holding()
    await stage.down(number)
    stage.world.let_go()
    await stage.up(live_restore=True)
    await stage.until_started(CHECK)
    await stage.down(number)
    await stage.up(live_restore=True)
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


@pytest.mark.parametrize(
    ("call", "number"), [(CREATE, signal.SIGKILL), (START, signal.SIGTERM)], ids=["create", "start"]
)
async def test_an_engine_that_goes_down_while_a_session_is_made(
    stage: Stage, call: str, number: signal.Signals
) -> None:
    await stage.begin(holds=False)
    asked = stage.proxy.will(Kind.HANG, call)
    await stage.until(asked.happened.is_set)
    await stage.down(number)
    await stage.up()
    await stage.settle()
    await stage.check_delivered()


async def test_a_socket_that_is_gone_for_a_while_loses_nothing(stage: Stage) -> None:
    await stage.begin()
    await stage.until_holding()
    await stage.proxy.close()
    stage.world.let_go()
    await stage.in_vain()
    await stage.proxy.open()
    await stage.until_started(CHECK)
    await stage.proxy.close()
    await stage.in_vain()
    await stage.proxy.open()
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


@pytest.mark.parametrize("call", [CREATE, START, REMOVE], ids=["create", "start", "remove"])
async def test_a_reply_that_is_lost_makes_nothing_twice(stage: Stage, call: str) -> None:
    await stage.begin(holds=False)
    lost = stage.proxy.will(Kind.LOSE, call, times=2)
    await stage.settle()
    await asyncio.wait_for(lost.happened.wait(), 180)
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (Kind.CUT, (CREATE, START, INSPECT, LOGS, REMOVE, LIST)),
        (Kind.FAIL, (CREATE, INSPECT, LOGS, REMOVE, LIST)),
        (Kind.HANG, (CREATE, START, INSPECT, LOGS, REMOVE, LIST)),
        (Kind.HANG_AFTER, (CREATE, START, REMOVE)),
    ],
)
async def test_each_call_goes_wrong_once_and_the_story_ends_as_ever(
    stage: Stage, kind: Kind, calls: tuple[str, ...]
) -> None:
    await stage.begin(holds=False)
    poll_errors = [stage.proxy.will(kind, call) for call in calls]
    await stage.settle()
    for trouble in poll_errors:
        assert trouble.happened.is_set(), (trouble, stage.proxy.seen)
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


async def test_a_session_that_the_engine_cannot_start_is_a_question(stage: Stage) -> None:
    await stage.begin(holds=False)
    stage.proxy.will(Kind.FAIL, START)
    await stage.settle()
    [decision] = await stage.world.decisions()
    assert decision.subject is Subject.DISPATCH_REFUSED
    assert "failed by hand" in decision.body
    await stage.check_clean()
    await stage.world.answer(decision, Verb.RETRY)
    await stage.settle()
    await stage.check_delivered()
