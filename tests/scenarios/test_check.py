"""`overlord check` as a user meets it: the judge tried on a repository as it is."""

import os
import signal

from overlord.embedded.play import run, submit
from tests.local import LocalSession, git, local_session
from tests.world import CALC

NO_MODEL = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OVERLORD_MODEL": ""}

HANGS = {"tests/test_hang.py": "def test_hang():\n    import time\n    time.sleep(300)\n"}


def add(user: LocalSession, files: dict[str, str]) -> None:
    for name, text in files.items():
        (user.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / name).write_text(text)
    git(user.repo, "add", "--all")
    git(user.repo, "commit", "--quiet", "--message=More")


async def test_it_tells_what_passes_what_fails_and_what_the_linter_says() -> None:
    async with local_session() as user:
        add(user, {"calc.py": CALC["calc.py"] + "import os\n", "ruff.toml": "lint.select = ['E', 'F']\n"})
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 0, said.out + said.err
        assert "tests   1 passed, 1 failed" in said.out
        assert "test_calc::test_add" in said.out
        assert "ruff: 2 findings today" in said.out
        assert "Overlord can judge work here." in said.out
        assert user.model.requests == []
        assert git(user.repo, "status", "--porcelain") == ""
        assert "No runs yet." in (await user.overlord("history")).out


async def test_a_repository_without_tests_is_judged_by_people() -> None:
    async with local_session({"calc.py": "x = 1\n"}) as user:
        said = await user.overlord("check", "--json", environment=NO_MODEL)
        assert said.code == 1
        assert said.objects[-1]["event"] == "result"
        assert (said.objects[-1]["judges"], said.objects[-1]["tests"]) == (False, "none were found")


async def test_tests_that_are_not_the_same_twice_are_named() -> None:
    unsteady = "import random\n\n\ndef test_luck():\n    assert random.SystemRandom().random() > 2\n"
    steady = "from pathlib import Path\n\n\ndef test_ok():\n    pass\n"
    async with local_session({"tests/test_luck.py": unsteady, "tests/test_ok.py": steady}) as user:
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 0
        assert "1 passed, 1 failed" in said.out and "test_luck" in said.out


async def test_its_environment_is_set_up_and_a_setup_that_fails_is_shown() -> None:
    async with local_session() as user:
        add(user, {".nebulus/environment.yaml": "setup: echo no such index; exit 3\n"})
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 5
        assert "no such index" in said.err and "exit code 3" in said.err
        add(user, {".nebulus/environment.yaml": "setup: echo fine\n"})
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 0, said.out + said.err


async def test_a_command_of_its_own_that_fails_at_base_cannot_judge() -> None:
    async with local_session() as user:
        add(user, {".nebulus/checks.yaml": "tests: sh -c 'echo out of paper; exit 2'\n"})
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 1
        assert "fails at base (exit code 2)" in said.out and "out of paper" in said.out


async def test_it_is_stopped_and_killed_without_harm_to_what_comes_after() -> None:
    async with local_session(HANGS) as user:
        terminal = await user.terminal("check", environment=NO_MODEL)
        await terminal.until("the repository's checks run")
        terminal.type("\x03")
        assert await terminal.ended() != 0
        terminal = await user.terminal("check", environment=NO_MODEL)
        await terminal.until("the repository's checks run")
        os.kill(terminal.process.pid, signal.SIGKILL)
        await terminal.ended()
        git(user.repo, "rm", "--quiet", "tests/test_hang.py")
        add(user, dict(CALC))
        said = await user.overlord("check", environment=NO_MODEL)
        assert said.code == 0, said.out + said.err


async def test_what_was_killed_holds_no_room_and_no_environment_that_others_wait_for() -> None:
    async with local_session() as user:
        config = user.root / "overlord.yaml"
        user.environment({})
        config.write_text(config.read_text().replace("grace_s: 2", "grace_s: 2, concurrent: 1"))
        user.model.will(run("sleep 300"), submit())
        await killed(user, "run", "Say so", until="run_command")
        add(user, HANGS)
        await killed(user, "check", until="the repository's checks run")
        add(user, {".nebulus/environment.yaml": f"setup: test -e {user.root}/on || sleep 300\n"})
        await killed(user, "check", until="the environment is set up: ")
        (user.root / "on").touch()
        git(user.repo, "rm", "--quiet", "tests/test_hang.py")
        git(user.repo, "commit", "--quiet", "--message=No more")
        said = await user.overlord("check")
        assert said.code == 0, said.out + said.err


async def killed(user: LocalSession, *words: str, until: str) -> None:
    """Type a command, and kill it once it shows this."""
    terminal = await user.terminal(*words)
    await terminal.until(until)
    os.kill(terminal.process.pid, signal.SIGKILL)
    await terminal.ended()
