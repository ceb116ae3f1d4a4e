"""A command that is printed runs as it is pasted, where it was printed: under the name this program has there, on the same state."""

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from overlord.embedded.play import blocked
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.invocation import EVERYWHERE, LOCAL, as_pasted, choose_repository, command, program
from tests.local import DEADLINE_S, LocalSession
from tests.quick import quick_desk

HERE = Path(sys.prefix) / "bin"
PLAIN = {"PATH": "/usr/bin:/bin"}
SAID_ONCE = ("OVERLORD_HOME", "OVERLORD_CONFIG")
REFUSED = 5


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OVERLORD_HOME", "OVERLORD_CONFIG", "OVERLORD_COMMAND"):
        monkeypatch.delenv(name, raising=False)
    choose_repository("")


@pytest.mark.parametrize(
    ("typed", "path", "called"),
    [
        (str(HERE / "overlord"), str(HERE), "overlord"),
        (".venv/bin/overlord", "/usr/bin", ".venv/bin/overlord"),
        ("./overlord", "/usr/bin", "./overlord"),
        ("/opt/overlord/bin/overlord", "/usr/bin", "/opt/overlord/bin/overlord"),
        ("/opt/over lord/overlord", "/usr/bin", "'/opt/over lord/overlord'"),
        ("/x/overlord/__main__.py", str(HERE), "python -m overlord"),
        ("overlord", "/usr/bin", "overlord"),
    ],
)
def test_the_program_is_called_as_a_shell_finds_it(
    typed: str, path: str, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program({"PATH": path}, typed) == called


def test_a_path_below_the_working_directory_is_said_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program(PLAIN, str(tmp_path / ".venv" / "bin" / "overlord")) == ".venv/bin/overlord"
    assert program(PLAIN, str(tmp_path / "overlord")) == "./overlord"


def test_a_link_on_path_is_the_program_itself_and_another_program_of_that_name_is_not(tmp_path: Path) -> None:
    linked, other = tmp_path / "linked", tmp_path / "other"
    for folder in (linked, other):
        folder.mkdir()
    (linked / "overlord").symlink_to(HERE / "overlord")
    (other / "overlord").write_text("#!/bin/sh\n")
    (other / "overlord").chmod(0o755)
    started = str(HERE / "overlord")
    assert program({"PATH": str(linked)}, started) == "overlord"
    assert program({"PATH": f"{other}:{linked}"}, started) != "overlord"


@pytest.mark.usefixtures("nothing_set")
def test_a_state_that_was_named_by_a_variable_is_named_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("why 7") == "overlord why 7"
    monkeypatch.setenv("OVERLORD_HOME", "/srv/my state")
    assert command("why 7") == "OVERLORD_HOME='/srv/my state' overlord why 7"
    assert command("why 7", home=Path("/tmp/demo")) == "OVERLORD_HOME=/tmp/demo overlord why 7"
    monkeypatch.setenv("OVERLORD_COMMAND", "docker compose exec overlord overlord")
    assert command("why 7") == "docker compose exec overlord overlord why 7"


@pytest.mark.usefixtures("nothing_set")
def test_the_repository_whose_runs_are_meant_is_named_again() -> None:
    choose_repository(".")
    assert command("why 7") == "overlord why 7 --repo ."
    assert command("decisions answer 1 reply 'your words'") == (
        "overlord decisions answer 1 reply 'your words' --repo ."
    )
    assert command("resume") == "overlord resume"
    choose_repository("../my calc")
    assert command("why 7") == "overlord why 7 --repo '../my calc'"
    assert command("resume") == "overlord resume --repo '../my calc'"
    assert command("resume acme/calc") == "overlord resume acme/calc"
    assert command("serve") == "overlord serve"
    assert command("skills validate") == "overlord skills validate"
    choose_repository("")


@pytest.mark.usefixtures("nothing_set")
def test_commands_in_a_text_are_as_they_are_typed_and_nothing_else_changes() -> None:
    choose_repository(".")
    text = "`overlord why 7` says; see `overlord.yaml`, overlord, `/overlord why 7` and `Overlord`"
    assert as_pasted(text) == text.replace("`overlord why 7` says", "`overlord why 7 --repo .` says")
    choose_repository("")


def options(group: TyperGroup, *before: str) -> Iterator[tuple[str, bool]]:
    for name in group.commands:
        _, found, _ = group.resolve_command(typer.Context(group), [name])
        if isinstance(found, TyperGroup):
            yield from options(found, *before, name)
        elif found is not None:
            yield " ".join((*before, name)), any("--repo" in item.opts for item in found.params)


def test_which_commands_take_a_repository_is_known() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    taking = {name for name, takes in options(root) if takes}
    named = {name for name, _ in options(root) if name in LOCAL or name.startswith(EVERYWHERE)}
    assert named == taking


COMMAND = re.compile(r"(?:^ *|`)((?:OVERLORD_\w+=\S+ )*\S*overlord [a-z][^`\n]*)", re.MULTILINE)


def printed(text: str) -> list[str]:
    """The commands in what was printed, on lines of their own or in backticks."""
    return [found.strip() for found in COMMAND.findall(text)]


async def pasted(user: LocalSession, line: str, environment: Mapping[str, str]) -> tuple[int, str]:
    """How a line ends in a shell, and what it printed."""
    with tempfile.TemporaryFile() as out:
        process = await asyncio.create_subprocess_shell(
            line, cwd=user.repo, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        async with asyncio.timeout(DEADLINE_S):
            code = await process.wait()
        out.seek(0)
        return code, out.read().decode()


async def test_what_a_run_and_the_looks_after_it_print_runs_as_pasted() -> None:
    """From a checkout whose `.venv` is on no PATH, with a home that was named for one command alone."""
    async with quick_desk() as user:
        (user.repo / ".venv").symlink_to(sys.prefix)
        user.model.will(blocked("Which of the two is meant?"))
        given = user.environment({**PLAIN, "OVERLORD_COMMAND": ""})
        shell = {name: value for name, value in given.items() if name not in SAID_ONCE}
        named = f"OVERLORD_HOME={user.home} OVERLORD_CONFIG={given['OVERLORD_CONFIG']} .venv/bin/overlord"
        code, ran = await pasted(user, f"{named} run 'add() subtracts' --runner process", shell)
        assert code == 1, ran
        looks = [f"{named} {words} --repo ." for words in ("status", "decisions show 1", "briefing")]
        shown = [ran, *[(await pasted(user, look, shell))[1] for look in looks]]
        commands = list(dict.fromkeys(line for text in shown for line in printed(text)))
        answers = [line for line in commands if " answer " in line.partition("#")[0]]
        others = [line for line in commands if line not in answers and " resume" not in line]
        assert len(answers) >= 2 and any("job show" in line for line in others)
        assert all(line.startswith(named) for line in commands), commands
        codes = {line: (await pasted(user, line, shell))[0] for line in (*others, *answers[:2])}
        assert codes == {**dict.fromkeys((*others, answers[0]), 0), answers[1]: REFUSED}
