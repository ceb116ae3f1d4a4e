"""Agents' programs on this machine: found on a search path, and asked for their version without being trusted with anything."""

import os
from pathlib import Path

import pytest

from minion.protocol import NATIVE, PROGRAMS
from overlord.adapters.process.agents import find_program, program_version, search_path
from overlord.domain.agent_programs import EXECUTABLES, INSTALLING, building, installing
from overlord.domain.launch import AgentProgram
from overlord.errors import RunnerRefused

CODEX = AgentProgram(program="codex")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin"


def install(path: str, text: str, name: str = "codex") -> Path:
    program = Path(path.partition(os.pathsep)[0], name)
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_every_agent_that_is_known_by_name_has_its_words() -> None:
    assert {*EXECUTABLES, NATIVE} == set(PROGRAMS) == {*INSTALLING, NATIVE}
    for name in EXECUTABLES:
        assert installing(name).startswith("install it")
        assert f"docker/images --agents {name}`" in building(name)
    assert (installing("acp"), building("acp")) == ("install it", "build or pull it on this engine")


def test_it_is_found_by_its_name_or_by_what_settings_call_it(path: str) -> None:
    program = install(path, "#!/bin/sh\n")
    assert find_program(CODEX, path) == str(program)
    mine = AgentProgram(program="claude-code", executable=str(program))
    assert find_program(mine, "/none") == str(program)
    program.chmod(0o644)
    with pytest.raises(RunnerRefused, match="there is no codex on the search path"):
        find_program(CODEX, path)
    with pytest.raises(RunnerRefused, match="nothing says what the program of acp is called"):
        find_program(AgentProgram(program="acp"), path)


def test_sessions_find_programs_where_overlord_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/a:/b")
    assert search_path("/venv/bin/python") == "/venv/bin:/a:/b"
    assert search_path("python") == "/a:/b"


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("echo codex-cli 0.171.0", "0.171.0"),
        ("echo; echo 'v2.1.332 (Claude Code)'", "2.1.332"),
        ("echo 2026.11.20-abc; exit 3", "2026.11.20-abc"),
        ("echo none of your business", "of an unknown version"),
        (r"printf '\377\376 1.2.3\n'", "1.2.3"),
        ("echo 1.0 >&2", "of an unknown version"),
        ("yes 0", "of an unknown version"),
        ("cat", "of an unknown version"),
    ],
)
async def test_the_first_number_it_says_is_its_version(path: str, says: str, version: str) -> None:
    install(path, f"#!/bin/sh\n{says}\n")
    assert await program_version(CODEX, path) == version


async def test_one_that_does_not_end_is_ended_with_what_it_began(path: str, tmp_path: Path) -> None:
    install(path, f"#!/bin/sh\nsleep 1000 & echo $! >{tmp_path}/pid; echo 1.2.3; wait\n")
    assert await program_version(CODEX, path, limit_s=0.5) == "1.2.3"
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_it_sees_nothing_of_overlords_environment_and_leaves_nothing(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "canary-77")
    install(path, f"#!/bin/sh\nenv >{tmp_path}/seen; echo x >$HOME/left; echo 1.0\n")
    await program_version(CODEX, path)
    seen = (tmp_path / "seen").read_text()
    assert "canary-77" not in seen
    [home] = [line.removeprefix("HOME=") for line in seen.splitlines() if line.startswith("HOME=")]
    assert not Path(home).exists()


async def test_one_that_is_no_program_is_refused(path: str) -> None:
    install(path, "not a program")
    with pytest.raises(RunnerRefused, match="cannot be started: Exec format error"):
        await program_version(CODEX, path)
