"""The wakeup: a ring between looking and waiting is not missed, and one from another process is heard."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from overlord.home import Home
from overlord.wakeup import Wakeup, notify

DEADLINE_S = 180


async def test_a_ring_wakes_everybody_who_waits() -> None:
    wakeup = Wakeup()
    waiting = [asyncio.create_task(wakeup.wait(wakeup.count, timeout_s=DEADLINE_S)) for _ in range(3)]
    await asyncio.sleep(0)
    wakeup.notify()
    assert await asyncio.gather(*waiting) == [True, True, True]


async def test_a_ring_between_looking_and_waiting_is_not_missed() -> None:
    wakeup = Wakeup()
    seen = wakeup.count
    wakeup.notify()
    assert await wakeup.wait(seen, timeout_s=0)
    assert not await wakeup.wait(wakeup.count, timeout_s=0)


async def test_another_process_is_heard(tmp_path: Path) -> None:
    wakeup, path = Wakeup(), tmp_path / "run" / "bell"
    with wakeup.listening(path):
        assert path.parent.stat().st_mode & 0o077 == 0
        program = "import sys; from pathlib import Path; from overlord.wakeup import notify; notify(Path(sys.argv[1]))"
        seen = wakeup.count
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(path)], check=True)
        assert await wakeup.wait(seen, timeout_s=DEADLINE_S)
    assert not path.exists()


async def test_a_storm_of_rings_harms_nobody(tmp_path: Path) -> None:
    wakeup, path = Wakeup(), tmp_path / "bell"
    with wakeup.listening(path):
        seen = wakeup.count
        for _ in range(2000):
            notify(path)
        assert await wakeup.wait(seen, timeout_s=DEADLINE_S)


async def test_a_bell_a_killed_daemon_left_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "bell"
    path.touch()
    wakeup = Wakeup()
    with wakeup.listening(path):
        notify(path)
        assert await wakeup.wait(0, timeout_s=DEADLINE_S)


@pytest.mark.parametrize("there", [True, False])
def test_ringing_where_nobody_listens_is_no_error(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "bell").touch()
    notify(tmp_path / "bell")


def test_a_home_tells_its_containers_from_anothers(tmp_path: Path) -> None:
    one, other = Home(tmp_path / "one"), Home(tmp_path / "other")
    one.root.mkdir()
    other.root.mkdir()
    assert one.instance() == one.instance()
    assert one.instance() != other.instance()


def test_two_spellings_of_a_repository_share_a_mirror(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.mirror("Acme/Calc") == home.mirror("acme/calc")
    assert home.socket("j1-work-1").parent == home.session_api("j1-work-1")
