"""Ports fail while another agent's call is worked on: once, before or after the effect, it ends as it does without a fault and nothing
is spent; for good, it ends with an error that names what failed. Nothing hangs, and `verified` is never said of what was not seen."""

from collections.abc import Callable

import pytest

from minion.protocol import SessionKind
from overlord.domain.disciplines.call import Call, CallResult, CallState, CallStatus
from overlord.domain.job import JobId, JobState
from overlord.embedded.play import give_result, write
from overlord.errors import ExternalServiceError, ForgeUnavailable, GitFailed, RunnerUnavailable
from overlord.store import jobs, sessions
from tests.called import called, current, request
from tests.faults.call_stories import CALC, TEST
from tests.faults.faulty import Call as PortCall
from tests.faults.faulty import Faulty, Mode, Plan
from tests.faults.player import READS_TEXT, RED_TEST
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import REPO

PORTS: dict[str, Callable[[str], ExternalServiceError]] = {
    "forge": ForgeUnavailable,
    "git": GitFailed,
    "runner": RunnerUnavailable,
}


FIRST = "j1-work-1"


def _find(_given: object) -> str:
    return REPO


async def _green(world: MemoryWorld) -> Call:
    """A green whose red is there."""
    world.model.forget()
    world.model_will(
        write("calc.py", READS_TEXT.decode()), give_result(message="numbers are read", verified=True)
    )
    return await called(world, "tdd_green", test_path=TEST)


def _plan(port: str, mode: Mode, *left: PortCall) -> Plan:
    return Plan(mode=mode, error=PORTS[port], left=list(left))


async def _told(port: str, plan: Plan) -> tuple[Call, list[str]]:
    """The call under a plan, and what was spent or left over."""
    files = CALC | {TEST: RED_TEST.decode()}
    before = {port: lambda real: Faulty(real, {REPO: plan}, _find)}
    async with made_memory_world(files, before=before) as world:
        await world.start()
        call = await _green(world)
        plan.end()
        await world.settle()
        made = await world.read(lambda c: sessions.of_job(c, _job(call)))
        job = await world.read(lambda c: jobs.get(c, _job(call)))
        kinds = sorted(item.kind for item in made)
        found = [f"sessions {kinds}"] * (kinds != [SessionKind.CHECK, SessionKind.WORK])
        found += [f"{job.losses} losses"] * bool(job.losses)
        found += [f"is {job.state}"] * (job.state is not JobState.COMPLETED)
        found += [f"{item.session} is held" for item in await world.overlord.parts.runner.sessions()]
        return call, found


def _job(call: Call) -> JobId:
    assert call.job_id is not None
    return call.job_id


def _result(call: Call) -> CallResult:
    assert call.state is CallState.ENDED, call
    assert call.result is not None
    return call.result


@pytest.mark.parametrize("mode", [Mode.BEFORE, Mode.AFTER])
@pytest.mark.parametrize("port", PORTS)
async def test_a_call_of_a_port_that_fails_once_changes_nothing(port: str, mode: Mode) -> None:
    seen = _plan(port, mode)
    usual = _result((await _told(port, seen))[0])
    assert usual.verified
    wanted = (usual.status, usual.verified, usual.changed, usual.base_tree, usual.head_tree, usual.why)
    tried = {name: (1, number) for name, number in seen.seen}  # the first of each name, and the last
    assert tried
    for each in [(name, number) for name, numbers in tried.items() for number in dict.fromkeys(numbers)]:
        call, found = await _told(port, _plan(port, mode, each))
        result = _result(call)
        got = (result.status, result.verified, result.changed, result.base_tree, result.head_tree, result.why)
        assert (got, found) == (wanted, []), each


@pytest.mark.parametrize("port", PORTS)
async def test_a_port_that_fails_for_good_is_the_calls_result(port: str) -> None:
    seen = _plan(port, Mode.FOR_GOOD)
    await _told(port, seen)
    for each in [call for call in dict.fromkeys(seen.seen) if call[1] == 1]:
        call, _ = await _told(port, _plan(port, Mode.FOR_GOOD, each))
        result = _result(call)
        if result.status is not CallStatus.ERROR:  # what failed was of no account to the result
            assert result.verified and result.base_tree, each
            continue
        assert (result.verified, call.patch) == (False, ""), each
        assert "failed, as was arranged" in result.message, each


async def test_a_lost_session_is_begun_again_and_costs_no_try() -> None:
    files = CALC | {TEST: RED_TEST.decode()}
    async with made_memory_world(files) as world:
        await world.start()
        world.model_will(world.hold())
        call = await request(world, "tdd_green", test_path=TEST)
        await world.until(lambda: world.is_holding(FIRST))
        await world.kill_session(FIRST)
        green = await _green_of(world, call)
        assert (green.verified, green.changed) == (True, ("calc.py",)), green
        made = await world.read(lambda c: sessions.of_job(c, _job(call)))
        assert [item.kind for item in made].count(SessionKind.WORK) == 2


async def _green_of(world: MemoryWorld, call: Call) -> CallResult:
    world.model.forget()
    world.model_will(write("calc.py", READS_TEXT.decode()), give_result())

    async def is_over() -> bool:
        return (await current(world, call)).state is not CallState.OPEN

    await world.until(is_over)
    return _result(await current(world, call))


async def test_a_secret_is_not_handed_back() -> None:
    files = CALC | {TEST: RED_TEST.decode()}
    async with made_memory_world(files) as world:
        await world.start()
        secret = world.model.key
        content = READS_TEXT.decode() + f"\n\nKEY = {secret!r}\n"
        world.model_will(write("calc.py", content), give_result())
        call = await called(world, "tdd_green", test_path=TEST)
        result = _result(call)
        assert (result.status, result.verified, call.patch) == (CallStatus.ERROR, False, ""), result
        assert "secret" in result.message
        kept = world.overlord.parts.evidence.get(result.evidence)
        assert secret.encode() not in kept
