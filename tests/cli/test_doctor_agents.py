"""What `overlord doctor` says of coding agents: those that settings ask for, and those that are there all the same."""

import os
from pathlib import Path
from typing import Any

import pytest

from overlord.entrypoints.doctor.agents import IN_SESSIONS, examine_agents
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.settings.load import load
from tests.required import missing
from tests.runners import IMAGE, docker, engine_or_skip


@pytest.fixture(autouse=True)
def bin_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory of the search path that has agents' programs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return directory


def install(directory: Path, name: str, says: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{says}\n")
    (directory / name).chmod(0o755)


async def found(tmp_path: Path, **settings: Any) -> dict[str, Finding]:
    loaded = load({"OVERLORD_HOME": str(tmp_path / "home")}, **settings)
    return {finding.what: finding for finding in await examine_agents(loaded)}


async def test_those_that_are_there_are_said_with_their_version_and_the_others_are_not(
    tmp_path: Path, bin_directory: Path
) -> None:
    assert await found(tmp_path, runner="process") == {}
    install(bin_directory, "claude", "echo '2.1.332 (Claude Code)'")
    install(bin_directory, "agent", "echo '2026.11.20-abc'")
    findings = await found(tmp_path, runner="process")
    assert {what: finding.said for what, finding in findings.items()} == {
        "agent claude-code": f"2.1.332, {bin_directory}/claude",
        "agent cursor": f"2026.11.20-abc, {bin_directory}/agent",
    }
    assert {finding.health for finding in findings.values()} == {Health.WELL}


@pytest.mark.parametrize(
    ("settings", "what", "said"),
    [
        ({"agent": "codex"}, "agent codex", "`npm install -g @openai/codex`"),
        ({"repositories": ["a/b"], "spaces": {"a/b": {"agent": "aider"}}}, "agent aider", "uv tool install"),
        ({"agents": {"gemini": {"command": ["/none/gemini"]}}}, "agent gemini", "no /none/gemini on"),
        ({"agent": "cursor"}, "agent cursor", "no agent or cursor-agent on the search path"),
        ({"agent": "acp:goose acp"}, "agent acp:goose acp", "no goose on the search path"),
    ],
)
async def test_one_that_settings_ask_for_and_is_missing_is_not_well_and_says_how_to_get_it(
    tmp_path: Path, settings: dict[str, Any], what: str, said: str
) -> None:
    findings = await found(tmp_path, runner="process", **settings)
    assert findings[what].health is Health.BAD
    assert said in findings[what].said


async def test_without_an_engine_nothing_is_said_of_agents_in_containers(
    tmp_path: Path, bin_directory: Path
) -> None:
    nowhere = {"docker": {"host": "unix:///none"}, "agent": "codex"}
    assert await found(tmp_path, runner="docker", **nowhere) == {}
    assert await found(tmp_path, **nowhere) == {}
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "processes.agreed").touch()
    install(bin_directory, "codex", "echo codex-cli 0.171.0")
    findings = await found(tmp_path, **nowhere)
    assert findings["agent codex"].said == f"0.171.0, {bin_directory}/codex"


@pytest.mark.docker
async def test_in_containers_it_is_the_image_that_says_it(tmp_path: Path) -> None:
    await engine_or_skip()
    if not docker("image", "ls", "--quiet", IMAGE):
        missing("docker", "there is no image")
    findings = await found(
        tmp_path,
        runner="docker",
        agent="opencode",
        agents={
            "opencode": {"image": "no-such-image"},
            "codex": {"image": IMAGE},
            "mine": {"program": "acp:mine"},
        },
    )
    assert findings["agent opencode"].health is Health.BAD
    assert "run `docker/images --agents opencode`" in findings["agent opencode"].said
    assert findings["agent codex"].said.startswith("image ") and f"in {IMAGE}" in findings["agent codex"].said
    assert findings["agent mine"] == Finding(what="agent mine", health=Health.WELL, said=IN_SESSIONS)
