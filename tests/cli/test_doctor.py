"""`overlord doctor`: each thing it looks at, well and not well, and that it names what to do."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from overlord.adapters.docker.sandbox_check import POINTS
from overlord.adapters.kubernetes.sandbox_check import PROMISED
from overlord.adapters.swarm.sandbox_check import PROMISED as OF_SERVICES
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.commands.doctor import WALLS
from overlord.entrypoints.cli.main import run
from overlord.entrypoints.doctor import checkup
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.settings.load import Settings, load
from tests.runners import engine_or_skip

REPOSITORY = "acme/calc"
GOOD_ENGINE = {
    "ServerVersion": "20.10.24",
    "CgroupVersion": "1",
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
    "Runtimes": {"runc": {}},
    "LiveRestoreEnabled": True,
}
Configured = Callable[..., Callable[[], Settings]]


@pytest.fixture
async def configured(tmp_path: Path) -> AsyncIterator[Configured]:
    """Settings of a sound Overlord in an embedded world, or with something changed."""
    forge, model = EmbeddedForge(tmp_path / "forge"), EmbeddedModel(names=["scripted"])
    await forge.create_repository(REPOSITORY, files={"README.md": "# calc\n"})
    async with forge.serve() as forge_url, model.serve() as model_url:
        sound: dict[str, Any] = {
            "repositories": [REPOSITORY],
            "forge": {"api_url": forge_url, "token": forge.token},
            "model": {"base_url": f"{model_url}/v1", "name": "scripted", "api_key": model.key},
        }

        def configured(**other: Mapping[str, Any]) -> Callable[[], Settings]:
            merged = {
                **sound,
                **{k: {**sound.get(k, {}), **v} for k, v in other.items() if isinstance(v, dict)},
            }
            merged |= {k: v for k, v in other.items() if not isinstance(v, dict)}
            return lambda: load({"OVERLORD_HOME": str(tmp_path / "home")}, **merged)

        yield configured
    forge.close()


async def found(load: Callable[[], Settings]) -> dict[str, Finding]:
    return {finding.what: finding for finding in await checkup.examine(load)}


async def test_a_sound_overlord_is_well_but_for_the_walls_it_has_not(configured: Configured) -> None:
    findings = await found(configured(runner="process"))
    # Whichever coding agents are on the machine of this test.
    findings = {what: finding for what, finding in findings.items() if not what.startswith("agent ")}
    unwell = {what for what, finding in findings.items() if finding.health is not Health.WELL}
    assert unwell == {"runner", f"{REPOSITORY} labels"}
    assert "no walls" in findings["runner"].said
    here = {"configuration", "git", "disk", "home", "clock", "runner", "model", "slack"}
    there = {REPOSITORY, f"{REPOSITORY} permissions", f"{REPOSITORY} labels", f"{REPOSITORY} tests"}
    assert set(findings) == here | there | {"rate limit overlord-agent"}


async def test_a_wrong_configuration_is_a_finding_and_git_is_looked_at_all_the_same(tmp_path: Path) -> None:
    findings = await found(lambda: load({"OVERLORD_HOME": str(tmp_path), "OVERLORD_RUNNER": "podman"}))
    assert findings["configuration"].health is Health.BAD
    assert "OVERLORD_RUNNER" in findings["configuration"].said
    assert findings["git"].health is Health.WELL


@pytest.mark.parametrize(
    ("setting", "what", "health", "said"),
    [
        ({"model": {"api_key": "sk-wrong"}}, "model", Health.BAD, "does not take the key (401"),
        ({"model": {"name": "unheard-of"}}, "model", Health.BAD, "does not know the model unheard-of (404"),
        (
            {"model": {"base_url": "http://127.0.0.1:9/v1"}},
            "model",
            Health.BAD,
            "does not answer (connection refused)",
        ),
        ({"model": {"name": ""}}, "model", Health.BAD, "set OPENAI_BASE_URL"),
        ({"forge": {"token": "wrong"}}, REPOSITORY, Health.BAD, "GITHUB_TOKEN"),
        ({"forge": {"token": ""}}, REPOSITORY, Health.BAD, "set GITHUB_TOKEN"),
        ({"repositories": ["acme/none"]}, "acme/none", Health.BAD, "acme/none"),
        ({"repositories": []}, "configuration", Health.BAD, "OVERLORD_REPOS"),
        ({"docker": {"host": "unix:///none"}}, "engine", Health.BAD, "`overlord serve` does not start"),
        ({"docker": {"host": "unix:///none"}, "runner": "docker"}, "engine", Health.BAD, "start Docker"),
    ],
)
async def test_what_is_not_well_says_what_to_do(
    configured: Configured, setting: dict[str, Any], what: str, health: Health, said: str
) -> None:
    finding = (
        await found(configured(**({"runner": "process"} if "docker" not in setting else {}), **setting))
    )[what]
    assert finding.health is health, finding
    assert said in finding.said


@pytest.mark.parametrize(
    ("says", "health"),
    [("2.37.4", Health.BAD), ("2.38.0", Health.WELL), ("2.50.1 (Apple Git-155)", Health.WELL)],
)
async def test_an_old_git_is_not_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, health: Health
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\necho 'git version {says}'\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (await checkup._git()).health is health


async def test_no_git_is_not_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install git" in (await checkup._git()).said


@pytest.mark.parametrize(
    ("lack", "words"),
    [
        ({"SwapLimit": False}, "swapaccount=1"),
        ({"PidsLimit": False}, "process limits"),
        ({"SecurityOptions": []}, "seccomp"),
        ({"Runtimes": {}}, "the runtime runc"),
    ],
)
def test_an_engine_that_cannot_hold_the_profile_is_not_well(lack: dict[str, Any], words: str) -> None:
    assert checkup._engine(GOOD_ENGINE, "runc").health is Health.WELL
    finding = checkup._engine(GOOD_ENGINE | lack, "runc")
    assert finding.health is Health.BAD
    assert words in finding.said


def test_every_wall_has_its_words() -> None:
    assert set(WALLS) == {*POINTS, *PROMISED, *OF_SERVICES}


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
async def test_a_real_engine_and_image_are_well(configured: Configured) -> None:
    findings = await found(configured(runner="docker"))
    assert findings["engine"].health is findings["image"].health is Health.WELL
    finding = (await found(configured(runner="docker", docker={"image": "no-such-image"})))["image"]
    assert finding.health is Health.BAD
    assert "make images" in finding.said
    finding = (await found(configured(runner="docker", docker={"runtime": "none"})))["engine"]
    assert "the runtime none" in finding.said


@pytest.fixture
async def engine() -> None:
    await engine_or_skip()


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_the_table_of_walls_is_printed_and_all_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERLORD_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        run(lambda: app(["doctor", "--sandbox"]))
    printed = capsys.readouterr().out
    assert ended.value.code == 0, printed
    assert "they have no network" in printed
    assert "26 of 26 walls hold." in printed
