"""What the process runner does that only processes can show: its files, its shim, ids that were given out again."""

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.process import shim
from overlord.adapters.process.runner import ProcessRunner
from overlord.adapters.trash import Trash
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import Ending, EndKind
from overlord.errors import RunnerRefused
from tests.puppet import DEADLINE_S, Line, open_door
from tests.runners import ProcessKit, clean, ending_of, launch

S1 = SessionId("s1")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[ProcessKit]:
    async with open_door() as session_api:
        kit = ProcessKit(tmp_path / "sessions", session_api)
        yield kit
        await clean(kit.runner())


async def started(kit: ProcessKit, runner: ProcessRunner) -> Line:
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    return line


async def ending(kit: ProcessKit) -> Ending:
    """What a daemon that comes now would see."""
    runner = kit.runner()
    running = await runner.find(S1)
    await runner.close()
    assert running is not None
    assert running.ending is not None
    return running.ending


def shim_of(kit: ProcessKit) -> int:
    return int(json.loads((kit.root / "s1" / "started").read_text())["pid"])


def emptied(root: Path) -> None:
    """Return when what was thrown away is deleted."""
    trash = Trash(root / ".trash")
    trash.discard(root / "nothing")
    trash.wait()


async def test_a_start_that_was_cut_off_is_no_trace_and_can_be_repeated(kit: ProcessKit) -> None:
    (kit.root / "s1" / "work").mkdir(parents=True)
    (kit.root / "s1" / "lock").touch()
    runner = kit.runner("say('up'); sys.exit(7)")
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).exit_code == 7


@pytest.mark.parametrize(
    ("record", "kind"), [({"tick": 1}, EndKind.KILLED), ({"boot": "other"}, EndKind.LOST)]
)
async def test_an_id_that_was_given_out_again_is_not_the_session(
    kit: ProcessKit, record: dict[str, int | str], kind: EndKind
) -> None:
    state = shim.state_of(os.getpid())
    assert state is not None
    (kit.root / "s1").mkdir(parents=True)
    shim.write_whole(
        f"{kit.root}/s1/started",
        {"pid": os.getpid(), "tick": state[1], "boot": shim.boot_id(), **record},
    )
    assert (await ending(kit)).kind is kind
    await kit.runner().stop(S1, grace_s=0)
    # Reaching this line is the proof: the signal did not go to the process that has the number now.


async def test_a_log_bomb_takes_two_megabytes_of_disk(kit: ProcessKit) -> None:
    runner = kit.runner("[os.write(1, b'y' * 65536) for _ in range(200)]")
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).exit_code == 0
    size = sum(part.stat().st_size for part in (kit.root / "s1").glob("log*"))
    assert 900_000 < size <= 2 * shim.LOG_BYTES


async def test_a_killed_shim_takes_the_program_along_and_remove_the_rest(kit: ProcessKit) -> None:
    runner = kit.runner("""
if os.fork() == 0:
    os.setsid()
    own = socket.socket(socket.AF_UNIX); own.connect(os.environ["OVERLORD_URL"].removeprefix("unix://"))
    lines.close(); door.close()
    own.sendall(b'child\\n'); rest()
rest()
""")
    await runner.start(launch(kit))
    program, child = await kit.session_api.line(), await kit.session_api.line()
    assert await child.hear() == "child"
    os.kill(shim_of(kit), signal.SIGKILL)
    assert await program.hear() == ""
    assert (await ending_of(runner, S1)).kind is EndKind.KILLED
    await runner.remove(S1)
    assert await child.hear() == ""
    await asyncio.to_thread(emptied, kit.root)
    assert [entry.name for entry in kit.root.rglob("*")] == [".trash"]


async def test_a_program_that_is_not_there_ends_with_its_reason_in_the_log(kit: ProcessKit) -> None:
    runner = ProcessRunner(kit.root, command=["/no/such/program"])
    await runner.start(launch(kit))
    assert await ending_of(runner, S1) == Ending(kind=EndKind.EXITED, exit_code=127)
    assert await runner.logs(S1, limit_bytes=200) == "/no/such/program: No such file or directory\n"


async def test_a_stop_right_after_the_start_is_not_forgotten(kit: ProcessKit) -> None:
    runner = kit.runner("rest()")
    await runner.start(launch(kit))
    async with asyncio.timeout(DEADLINE_S):
        await runner.stop(S1, grace_s=DEADLINE_S * 2)
    assert (await ending(kit)).kind is EndKind.STOPPED


async def test_a_crash_of_the_program_is_its_own_ending(kit: ProcessKit) -> None:
    runner = kit.runner("os.kill(os.getpid(), signal.SIGSEGV)")
    await runner.start(launch(kit))
    assert await ending_of(runner, S1) == Ending(kind=EndKind.EXITED, exit_code=139, detail="SIGSEGV")


async def test_the_program_starts_with_the_systems_own_signals(kit: ProcessKit) -> None:
    runner = kit.runner("say(str(signal.getsignal(signal.SIGXFSZ)) + str(signal.pthread_sigmask(0, [])))")
    await runner.start(launch(kit))
    # Python itself ignores SIGXFSZ at its start; the mask is what a shim could have left behind.
    assert (await (await kit.session_api.line()).hear()).endswith("set()")


async def test_directories_it_locked_are_removed_all_the_same(kit: ProcessKit) -> None:
    runner = kit.runner("os.makedirs('deep/er'); os.chmod('deep/er', 0); os.chmod('deep', 0o500)")
    await runner.start(launch(kit))
    await ending_of(runner, S1)
    await runner.remove(S1)
    await asyncio.to_thread(emptied, kit.root)
    assert [entry.name for entry in kit.root.rglob("*")] == [".trash"]


@pytest.mark.parametrize("name", ["../escape", "", ".hidden", "a/b", "a" * 101])
async def test_what_cannot_be_a_directory_is_no_session(kit: ProcessKit, name: str) -> None:
    with pytest.raises(RunnerRefused, match="cannot be a session's id"):
        await kit.runner().start(launch(kit, name))


async def test_only_its_user_may_look_into_a_session(kit: ProcessKit) -> None:
    await started(kit, kit.runner("say('up'); rest()"))
    for path in (kit.root, kit.root / "s1" / "home", kit.root / "s1" / "work"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


async def test_the_minion_can_be_imported_and_the_working_directory_cannot(
    kit: ProcessKit, tmp_path: Path
) -> None:
    runner = ProcessRunner(
        kit.root, command=[sys.executable, "-P", "-c", "import minion, sys; print(sys.path[0])"]
    )
    await runner.start(Launch(session=S1, job="j", environment={}, session_api=tmp_path))
    assert (await ending_of(runner, S1)).exit_code == 0
    assert (await runner.logs(S1, limit_bytes=1000)).strip() == str(Path(shim.__file__).parents[3])
