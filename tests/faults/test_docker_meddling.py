"""Whole stories while somebody else kills, pauses, renames and removes what they need, or memory and disk run out."""

import json
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from overlord.store import sessions
from tests.adapters.engine import OwnEngine
from tests.faults.docker_stage import CHECK, WORK, Stage, set_up
from tests.world import CALC, FIX, HOLDING

pytestmark = pytest.mark.docker

ENDINGS = ["kill", "stop", "rm --force"]


async def test_sessions_that_others_end_are_done_again_and_no_attempt_is_spent(stage: Stage) -> None:
    await stage.begin()
    for number, act in enumerate(ENDINGS, start=1):
        await stage.until_holding(f"j1-work-{number}")
        stage.docker(*act.split(), stage.name(f"j1-work-{number}"))
    await stage.until_holding("j1-work-4")
    stage.world.let_go("j1-work-4")
    for number, act in enumerate(ENDINGS, start=1):
        await stage.until_started(f"j1-check-{number}")
        stage.docker(*act.split(), stage.name(f"j1-check-{number}"))
    await stage.settle()
    assert (await stage.sessions())[-1] == "j1-check-4"
    await stage.check_delivered()


async def test_containers_that_others_restart_are_no_second_session_and_their_work_is_done_again(
    stage: Stage,
) -> None:
    await stage.begin()
    await stage.until_holding()
    stage.docker("restart", stage.name(WORK))
    await stage.until_holding("j1-work-2")
    stage.docker("restart", "--time", "0", stage.name("j1-work-2"))
    await stage.until_holding("j1-work-3")
    stage.world.let_go("j1-work-3")
    await stage.until_started(CHECK)
    stage.docker("restart", "--time", "0", stage.name(CHECK))
    await stage.settle()
    assert (await stage.sessions())[-1] == "j1-check-2"
    await stage.check_delivered()


async def test_containers_that_others_rename_are_found_all_the_same(stage: Stage) -> None:
    await stage.begin()
    await stage.until_holding()
    stage.docker("rename", stage.name(WORK), "mine")
    await stage.world.make_due()
    await stage.until(lambda: True)
    stage.world.let_go()
    await stage.until_started(CHECK)
    stage.docker("rename", stage.name(CHECK), "mine-too")
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


async def test_a_container_that_others_pause_goes_on_when_they_let_it(stage: Stage) -> None:
    await stage.begin()
    await stage.until_holding()
    stage.docker("pause", stage.name(WORK))
    await stage.world.make_due()
    await stage.until(lambda: True)
    stage.docker("unpause", stage.name(WORK))
    stage.world.let_go()
    await stage.until_started(CHECK)
    stage.docker("pause", stage.name(CHECK))
    await stage.world.make_due()
    await stage.until(lambda: True)
    stage.docker("unpause", stage.name(CHECK))
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


async def test_a_container_that_stays_paused_is_stopped_and_people_are_asked(stage: Stage) -> None:
    await stage.begin()
    await stage.until_holding()
    stage.docker("pause", stage.name(WORK))
    stage.world.clock.move(stage.world.settings().sessions.silent_s + 1)
    await stage.settle()
    [decision] = await stage.world.decisions()
    assert decision.subject is Subject.STOPPED_SHORT
    assert "no sign of life" in decision.body
    await stage.check_clean()
    await stage.world.answer(decision, Verb.RETRY)
    await stage.settle()
    await stage.check_delivered()


async def test_an_image_that_is_gone_is_a_question_and_the_work_is_kept(stage: Stage) -> None:
    await stage.begin()
    await stage.until_holding()
    stage.docker("tag", "overlord-minion", "kept")
    stage.docker("rmi", "overlord-minion")
    await stage.settle()
    [decision] = await stage.world.decisions()
    assert decision.subject is Subject.CHECKS_UNAVAILABLE
    assert "make images" in decision.body
    stage.docker("tag", "kept", "overlord-minion")
    await stage.check_clean()
    await stage.world.answer(decision, Verb.RECHECK)
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK, "j1-check-2"]
    await stage.check_delivered()


@pytest.fixture
async def furnished(engine: OwnEngine) -> AsyncIterator[Stage]:
    """A stage whose repository needs an environment."""
    files = {**CALC, ".nebulus/environment.yaml": 'setup: echo made > "$MINION_ENVIRONMENT/said"\n'}
    async with set_up(engine, files, environments={"network": "none"}) as stage:
        stage.docker("tag", "overlord-minion", "overlord-minion-setup")
        yield stage


async def test_an_environment_that_is_gone_is_made_again(furnished: Stage) -> None:
    stage = furnished
    await stage.begin()
    await stage.until_holding()
    images = stage.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").splitlines()
    [layer] = [image for image in images if image.startswith("overlord-environment:")]
    stage.docker("rmi", "--force", layer)
    await stage.settle()
    assert await stage.sessions() == ["j1-setup-1", WORK, "j1-setup-2", CHECK]
    await stage.check_delivered()


@pytest.fixture
async def narrow(engine: OwnEngine) -> AsyncIterator[Stage]:
    """A stage with little memory."""
    async with set_up(engine, CALC, infer_scope=False, sessions={"memory_mb": 200}) as stage:
        yield stage


EAT = "head -c 400M /dev/zero | tail | wc -c"
HELD_EATING = run(f"{HOLDING}; until test -e /run/door/go; do sleep 0.02; done; {EAT}")
PROGRAMS = {"the first process": "/sbin/docker-init ", "the Minion": "python "}


async def test_a_command_that_eats_all_memory_ends_and_its_session_goes_on(narrow: Stage) -> None:
    await narrow.world.issue("add() subtracts")
    await narrow.world.make_due()
    narrow.world.model_will(run(EAT), edit(*FIX), submit("adds"))
    await narrow.settle()
    [row] = await narrow.world.read(lambda c: [s for s in sessions.of_job(c, 1) if s.kind == "work"])
    assert "out of memory" in row.ending.replace("_", " ")
    await narrow.check_delivered()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
async def test_a_session_whose_own_program_is_killed_for_memory_is_one_question(
    narrow: Stage, program: str
) -> None:
    await narrow.world.issue("add() subtracts")
    await narrow.world.make_due()
    narrow.world.model_will(HELD_EATING, edit(*FIX), submit("adds"), when="subtracts")
    await narrow.until_holding()
    await narrow.until(lambda: _is_first_to_go(narrow, program))
    await narrow.settle()
    [row] = await narrow.world.read(lambda c: sessions.of_job(c, 1))
    assert (row.ending, row.report) == ("out_of_memory", None)
    died = ("--filter", f"container={narrow.name(WORK)}", "--filter", "event=die")
    until = f"{time.time():.9f}"  # of an amount ("0s") the command makes whole seconds: it ends before what was just now
    said = narrow.docker(
        "events", "--since", "1h", "--until", until, *died, "--format", "{{json .Actor.Attributes}}"
    )
    assert json.loads(said)["exitCode"] == "137"
    job = await narrow.world.job()
    assert (job.state, job.revision, job.losses) == (JobState.WAITING, 0, 0)
    [decision] = await narrow.world.decisions()
    assert (decision.subject, decision.body) == (
        Subject.STOPPED_SHORT,
        "It ended without a report: out of memory.",
    )
    await narrow.check_clean()
    await narrow.world.answer(decision, Verb.RETRY)
    await narrow.settle()
    await narrow.check_delivered()


async def test_how_a_session_ended_while_no_daemon_ran_is_known_to_the_next(narrow: Stage) -> None:
    await narrow.world.issue("add() subtracts")
    await narrow.world.make_due()
    narrow.world.model_will(HELD_EATING, edit(*FIX), submit("adds"), when="subtracts")
    await narrow.until_holding()
    await narrow.until(lambda: _is_first_to_go(narrow, PROGRAMS["the Minion"]))
    await narrow.world.stop()
    narrow.world.let_go()
    assert narrow.docker("wait", narrow.name(WORK)) == "137"
    await narrow.world.start()
    await narrow.until(lambda: not narrow.world.has_started(WORK))
    [row] = await narrow.world.read(lambda c: [s for s in sessions.of_job(c, 1) if s.id == WORK])
    assert row.ending == "out_of_memory"
    await narrow.settle()
    await narrow.check_clean()


def _is_first_to_go(stage: Stage, program: str) -> bool:
    """Let the kernel choose this program of the session when memory is short, whatever else eats it; whether its command runs by now
    and has not inherited that."""
    shown = stage.docker("top", stage.name(WORK), "-eo", "pid,args").splitlines()[1:]
    commands = dict(line.split(maxsplit=1) for line in shown)
    is_running = any(f"-c {HOLDING}" in command for command in commands.values())
    if is_running:
        [victim] = [process for process, command in commands.items() if command.startswith(program)]
        Path(f"/proc/{victim}/oom_score_adj").write_text("1000")
    return is_running


async def test_tests_that_eat_all_memory_are_no_pass(narrow: Stage) -> None:
    await narrow.world.issue("add() subtracts")
    await narrow.world.make_due()
    eats = "def test_eats():\n    assert len(bytearray(b'x') * 400_000_000)\n"
    narrow.world.model_will(edit(*FIX), write("tests/test_eats.py", eats), submit("adds"), when="subtracts")
    await narrow.settle()
    job = await narrow.world.job()
    assert job.state is JobState.WAITING
    [decision] = await narrow.world.decisions()
    assert "memory" in decision.body
    await narrow.check_clean()


async def test_an_engine_whose_disk_is_full_is_asked_again_when_there_is_room(
    stage: Stage, engine: OwnEngine
) -> None:
    await stage.begin()
    with _full(engine.directory / "data-root" / "containers"):
        await stage.world.until(lambda: stage.world.overlord.tick.next_delay_s() is not None)
        assert "no space left" in (await stage.world.job()).reason
    await stage.until_holding()
    stage.world.let_go()
    with _full(engine.directory / "data-root" / "containers"):
        await stage.world.until(lambda: stage.world.overlord.tick.next_delay_s() is not None)
    await stage.settle()
    assert await stage.sessions() == [WORK, CHECK]
    await stage.check_delivered()


@contextmanager
def _full(directory: Path) -> Iterator[None]:
    """A directory that takes nothing new."""
    options = ["-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "none", str(directory)]
    subprocess.run(["mount", *options], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)
