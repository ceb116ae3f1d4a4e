"""The commonest mistakes of whoever sets Overlord up: each made on purpose, `overlord doctor` typed, and the fix in its words."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.adapters.github.permission import PERMISSIONS
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.main import run
from overlord.settings.env import ENVIRONMENT
from tests.app_keys import keys, write_key
from tests.faults.disks import mounted
from tests.listener.test_daemon import served
from tests.world import REPO, made_world

KEPT = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")
DEADLINE_S = 180.0


@dataclass
class Machine:
    """A machine where Overlord is set up soundly, until somebody makes a mistake."""

    root: Path
    forge: EmbeddedForge
    environment: dict[str, str]
    patch: pytest.MonkeyPatch
    printed: pytest.CaptureFixture[str]

    async def doctor(self, **other: str) -> dict[str, tuple[str, str]]:
        """Type `overlord doctor --json`: for each thing, how well it is and what was said."""
        for name in {name for name in os.environ if name.startswith("OVERLORD_")} | set(ENVIRONMENT):
            self.patch.delenv(name, raising=False)
        for name, value in {**self.environment, **other}.items():
            self.patch.setenv(name, value)
        code = await asyncio.to_thread(_typed, "doctor", "--json")
        return _found(code, *self.printed.readouterr())

    async def doctor_as_a_program(self) -> dict[str, tuple[str, str]]:
        """The same, in a process of its own."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "overlord", "doctor", "--json"),
            env={name: os.environ[name] for name in KEPT if name in os.environ} | self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate()
        return _found(process.returncode, out.decode(), err.decode())


def _typed(*words: str) -> object:
    try:
        return run(lambda: app(list(words)))
    except SystemExit as ending:
        return ending.code or 0


def _found(code: object, out: str, err: str) -> dict[str, tuple[str, str]]:
    assert not err, err
    found = {item["what"]: (item["health"], item["said"]) for item in json.loads(out)}
    assert code == (1 if "bad" in {health for health, _ in found.values()} else 0)
    return found


@pytest.fixture
async def machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Machine]:
    forge, model = EmbeddedForge(tmp_path / "forge"), EmbeddedModel()
    await forge.create_repository(REPO, files={"README.md": "# calc\n"})
    async with forge.serve() as forge_url, model.serve() as model_url:
        sound = {
            "OVERLORD_HOME": str(tmp_path / "home"),
            "OVERLORD_REPOS": REPO,
            "OVERLORD_RUNNER": "process",
            "GITHUB_API_URL": forge_url,
            "GITHUB_TOKEN": forge.token,
            "OPENAI_BASE_URL": f"{model_url}/v1",
            "OPENAI_API_KEY": model.key,
            "OVERLORD_MODEL": "scripted",
        }
        yield Machine(tmp_path, forge, sound, monkeypatch, capsys)
    forge.close()


def too_long(machine: Machine) -> dict[str, str]:
    return {"OVERLORD_HOME": str(machine.root / ("x" * 90))}


def file_that_is_not_there(machine: Machine) -> dict[str, str]:
    return {"OPENAI_API_KEY": "", "OPENAI_API_KEY_FILE": str(machine.root / "key")}


def app_without_rights(machine: Machine) -> dict[str, str]:
    app = machine.forge.add_app("overlord-acme", keys()[1], [REPO])
    machine.forge.permit_app(app.id, **{**PERMISSIONS, "pull_requests": "read"})
    key = str(write_key(machine.root / "key.pem"))
    return {"GITHUB_TOKEN": "", "GITHUB_APP_ID": str(app.id), "GITHUB_APP_PRIVATE_KEY_FILE": key}


def old_git(machine: Machine) -> dict[str, str]:
    program = machine.root / "git"
    program.write_text("#!/bin/sh\necho 'git version 2.30.2'\n")
    program.chmod(0o755)
    return {"PATH": f"{machine.root}{os.pathsep}{os.environ['PATH']}"}


def just(**environment: str) -> Callable[[Machine], dict[str, str]]:
    return lambda machine: environment


@pytest.mark.parametrize(
    ("mistake", "what", "fix"),
    [
        (
            just(OVERLORD_REPO="acme/calc"),
            "configuration",
            "unknown environment variable OVERLORD_REPO; did you mean OVERLORD_REPOS? known: ",
        ),
        (file_that_is_not_there, "configuration", "OPENAI_API_KEY_FILE names"),
        (too_long, "configuration", "Choose a home at least"),
        (just(GITHUB_TOKEN=""), REPO, "set GITHUB_TOKEN, or GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY_FILE"),
        (just(GITHUB_TOKEN="ghp_wrong0123456789"), REPO, "check GITHUB_TOKEN"),
        (
            app_without_rights,
            f"{REPO} permissions",
            "lacks Pull requests: read and write; add it on the App's page",
        ),
        (
            just(OVERLORD_REPOS="acme/none"),
            "acme/none",
            "check its name in OVERLORD_REPOS, and that the App is",
        ),
        (
            just(OPENAI_API_KEY="sk-wrong"),
            "model",
            "does not take the key (401: Incorrect API key provided). See OPENAI_API_KEY",
        ),
        (
            just(OPENAI_BASE_URL="http://127.0.0.1:9/v1"),
            "model",
            "Check OPENAI_BASE_URL, and that the endpoint runs and can be reached from here. Inside a container",
        ),
        (just(OVERLORD_MODEL=""), "model", "set OPENAI_BASE_URL, OPENAI_API_KEY and OVERLORD_MODEL"),
        (
            just(OVERLORD_RUNNER="docker", DOCKER_HOST="unix:///none"),
            "engine",
            "start Docker, or set DOCKER_HOST",
        ),
        (old_git, "git", "2.30.2 is too old; 2.38 is needed"),
    ],
)
async def test_a_mistake_is_found_and_the_fix_is_said(
    machine: Machine, mistake: Callable[[Machine], dict[str, str]], what: str, fix: str
) -> None:
    health, said = (await machine.doctor(**mistake(machine)))[what]
    assert health == "bad"
    assert fix in said


async def test_without_a_mistake_nothing_is_bad(machine: Machine) -> None:
    found = await machine.doctor_as_a_program()
    assert {what: said for what, (health, said) in found.items() if health == "bad"} == {}
    assert found["clock"] == ("well", "as 127.0.0.1 has it")
    assert found["home"][1].endswith("no daemon works on it now")
    assert not (machine.root / "home").exists()


async def test_a_disk_without_room_is_bad(machine: Machine) -> None:
    with mounted("size=64m") as disk:
        health, said = (await machine.doctor(OVERLORD_HOME=str(disk.root)))["disk"]
    assert health == "bad"
    assert said.endswith("give it room, or see what `overlord gc` would remove")


async def test_a_home_on_a_disk_that_is_read_only_or_full_is_bad(machine: Machine) -> None:
    with mounted("size=64m,nr_inodes=100") as disk:
        disk.remount("ro")
        read_only = (await machine.doctor(OVERLORD_HOME=str(disk.root)))["home"]
        disk.remount("rw")
        disk.name()
        full = (await machine.doctor(OVERLORD_HOME=str(disk.root)))["home"]
    assert read_only[0] == full[0] == "bad"
    assert read_only[1].endswith("cannot be written: its file system is read-only; mount it for writing")
    assert full[1].endswith("cannot be written: its disk is full, or can hold no more files; make room")


async def test_a_port_another_program_has_is_bad_and_the_daemons_own_is_well(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        health, said = (await machine.doctor(OVERLORD_LISTEN=address))["listener"]
    assert (health, said) == (
        "bad",
        f"{address} cannot be listened on: another program listens there; choose another in OVERLORD_LISTEN",
    )
    found = await machine.doctor(OVERLORD_LISTEN=address)
    assert found["listener"] == ("well", f"{address} is free")


async def test_beside_a_daemon_its_port_is_its_own_and_a_second_daemon_is_told_what_to_do(
    machine: Machine,
) -> None:
    async with made_world() as world, served(world, OVERLORD_LISTEN="127.0.0.1:0") as daemon:
        place = (await daemon.told("listening"))["address"]
        await daemon.until(daemon.has_polled)
        home = str(world.root / "home")
        found = await machine.doctor(OVERLORD_HOME=home, OVERLORD_LISTEN=place)
        assert found["listener"] == ("well", f"{place}, where this home's daemon listens")
        assert found["home"][1].endswith("a daemon works on it now")
        async with served(world) as second:
            async with asyncio.timeout(DEADLINE_S):
                _, said = await second.process.communicate()
            assert second.process.returncode == 6
            assert said.decode().splitlines()[-1] == (
                f"overlord: another Overlord daemon is using {home}; stop it, or set OVERLORD_HOME to another folder"
            )


@pytest.mark.parametrize(
    ("date", "said"),
    [
        ("Mon, 02 Mar 2026 09:00:00 GMT", "s ahead of 127.0.0.1"),
        ("Thu, 02 Mar 2090 09:00:00 GMT", "s behind 127.0.0.1"),
    ],
)
async def test_a_clock_that_is_not_the_forges_is_bad(machine: Machine, date: str, said: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 404 Not Found\r\ndate: {date}\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as far_end:
        url = f"http://127.0.0.1:{far_end.sockets[0].getsockname()[1]}"
        health, told = (await machine.doctor(GITHUB_API_URL=url))["clock"]
    assert health == "bad"
    assert said in told and "timedatectl set-ntp true" in told
