"""The unit an operator installs, verbatim, on a machine that boots with it: what it does about a daemon, and what its walls hold."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import edit, run, submit
from tests.adapters.engine import OwnEngine
from tests.architecture.test_imports import ROOT
from tests.deploy.machine import ENGINES_GROUP, Machine, booted, image_or_skip, written
from tests.deploy.server import SETTINGS, as_seen_inside, bridge
from tests.deploy.walls import WALLS
from tests.runners import IMAGE, docker
from tests.world import CALC, FIX, REPO

pytestmark = pytest.mark.docker

HELD = "until test -e /run/door/go; do sleep 0.02; done"
UNIT = (ROOT / "deploy" / "overlord.service").read_text(encoding="utf-8")
NO_WALLS = {
    *(
        "Type",
        "NotifyAccess",
        "TimeoutStartSec",
        "ExecStart",
        "Environment",
        "EnvironmentFile",
        "WatchdogSec",
    ),
    *("Restart", "RestartSec", "RestartPreventExitStatus", "KillMode", "TimeoutStopSec", "User", "Group"),
    *("SupplementaryGroups", "StateDirectory", "StateDirectoryMode"),
}
ONLY_ON_ONE_KIND = {"SystemCallArchitectures"}
"""Tried where there is an older kind of system call."""
LIMITS_OF_A_GROUP = {"MemoryMax": 2 * 2**30, "MemorySwapMax": 0, "TasksMax": 512}
"""They hold where this machine's cgroups do."""


def walls_of_the_unit() -> list[str]:
    service = UNIT.partition("[Service]")[2].partition("[Install]")[0]
    return [
        line for line in re.findall(r"^(\w+=.*)$", service, flags=re.M) if line.split("=")[0] not in NO_WALLS
    ]


def test_every_wall_of_the_unit_is_tried() -> None:
    tried = {line for wall in WALLS.values() for line in wall.lines}
    lines = set(walls_of_the_unit())
    assert len(lines) > 20 and tried <= lines
    assert {line.split("=")[0] for line in lines - tried} <= ONLY_ON_ONE_KIND


async def test_each_wall_holds_in_the_unit_and_by_itself_and_what_it_holds_back_is_done_without() -> None:
    async with booted({}) as machine:
        await machine.install({"OVERLORD_MODEL": "none"})
        await machine.shell("touch /tmp/of-others && chmod 644 /tmp/of-others")
        # As its first step, in the unit itself, which then waits to be stopped.
        tries = "ExecStartPre=/usr/bin/python3 -I /walls.py /var/lib/overlord/walls"
        await machine.drop_in("walls", tries, "ExecStartPre=/usr/bin/sleep infinity")
        await machine.shell("systemctl start --no-block overlord")
        inside = json.loads(await machine.until("cat /var/lib/overlord/walls"))
        left = await machine.shell("ls /dev/shm")
        await machine.shell("systemctl stop overlord")
        assert left.startswith("left-") and await machine.shell("ls /dev/shm") == ""
        assert await machine.shown(*LIMITS_OF_A_GROUP) == {
            name: str(value) for name, value in LIMITS_OF_A_GROUP.items()
        }

        without = await _tried(machine, dict.fromkeys(WALLS, ()))
        alone = await _tried(
            machine, {name: wall.lines for name, wall in WALLS.items() if name != "RemoveIPC"}
        )
        by_name = await _tried(machine, {"SystemCallFilter": WALLS["SystemCallFilter"].lines[:1]})
        assert (await machine.shell("ls /dev/shm")).startswith("left-")
        await _tried(machine, {"RemoveIPC": WALLS["RemoveIPC"].lines})
        assert await machine.shell("ls /dev/shm") == ""

        if without.get("SystemCallArchitectures") == "SIGSEGV":
            del without["SystemCallArchitectures"]  # this kernel does not know the other kind at all
        groups = set(await _limits_that_nobody_keeps(machine))
        assert {name: said for name, said in without.items() if said != "done"} == {}
        held = without.keys() - {"RemoveIPC"} - groups
        assert {name for name in held if inside[name] == "done"} == set(), inside
        assert {name for name in held if alone[name] == "done"} == set(), alone
        assert by_name["SystemCallFilter"] == "SIGSYS" and alone["SystemCallFilter"] == "EPERM"


async def _tried(machine: Machine, lines: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """What becomes of each attempt in a unit of its own, with these lines alone."""
    text, start = "", "systemctl daemon-reload\nsystemctl start"
    for name, its in lines.items():
        command = f"/usr/bin/python3 -I /walls.py /var/lib/{name}/said {name}"
        unit = ["[Service]", "Type=oneshot", f"ExecStart={command}", f"User={WALLS[name].user}", *its]
        unit += [f"StateDirectory={name}"]
        text += f"cat >/run/systemd/system/wall-{name}.service <<'END'\n" + "\n".join(unit) + "\nEND\n"
        start += f" wall-{name}.service"
    await machine.shell(f"mkdir -p /run/systemd/system\n{text}{start}")
    said = await machine.shell("cat " + " ".join(f"/var/lib/{name}/said" for name in lines))
    return {name: word for part in said.split("}") if part for name, word in json.loads(f"{part}}}").items()}


async def _limits_that_nobody_keeps(machine: Machine) -> list[str]:
    controllers = await machine.shell("cat /sys/fs/cgroup/cgroup.controllers")
    needed = {"MemoryMax": "memory", "MemorySwapMax": "memory", "TasksMax": "pids"}
    return [name for name, controller in needed.items() if controller not in controllers.split()]


@dataclass
class Service:
    """Overlord as a service on such a machine, with an engine whose /var/lib/overlord is the machine's."""

    machine: Machine
    engine: OwnEngine
    state: Path
    forge: EmbeddedForge
    model: EmbeddedModel

    def power_engine(self) -> None:
        """Start it, open to whom a machine opens it."""
        self.engine.start()
        self.engine.directory.chmod(0o711)
        os.chown(self.engine.directory / "s", 0, ENGINES_GROUP)

    def sessions(self) -> list[str]:
        return docker("--host", self.engine.address, "ps", "--quiet").split()

    def is_done(self) -> bool:
        """Let sessions go on that wait; whether there is a pull request that is ready."""
        with contextlib.suppress(FileNotFoundError):  # a session API that is over
            for session_api in (self.state / "run").glob("*/"):
                (session_api / "go").touch()
        return [pull.draft for pull in self.forge.pulls(REPO)] == [False]

    async def until_asked(self, times: int) -> None:
        """Wait until the model was asked so often: the session is in the midst of its work."""
        await self.machine.until("echo", lambda _: len(self.model.requests) >= times)

    async def until_other(self, pid: str) -> str:
        """Wait until another daemon than that runs, and is ready; its number."""
        look = "systemctl show overlord --property=MainPID --value; systemctl is-active overlord"
        said = await self.machine.until(
            look, lambda said: said.split()[1:] == ["active"] and said.split()[0] not in {"0", pid}
        )
        return said.split()[0]


@contextlib.asynccontextmanager
async def serviced() -> AsyncIterator[Service]:
    await image_or_skip()
    root = Path(tempfile.mkdtemp(prefix="ov-", dir="/tmp"))
    state = root / "state"
    state.mkdir()
    forge, model, engine = EmbeddedForge(root / "forge"), EmbeddedModel(), OwnEngine(state=state)
    mounts = {state: "/var/lib/overlord", engine.directory: "/run/engine"}
    try:
        await forge.create_repository(REPO, files=dict(CALC))
        async with (
            forge.serve(host=bridge()) as forge_url,
            model.serve(host=bridge()) as model_url,
            booted(mounts, folders=[root, engine.directory]) as machine,
        ):
            service = Service(machine, engine, state, forge, model)
            await asyncio.to_thread(service.power_engine)
            await asyncio.to_thread(engine.load, IMAGE)
            await machine.install(
                {
                    "OVERLORD_REPOS": REPO,
                    "GITHUB_API_URL": as_seen_inside(forge_url),
                    "GITHUB_TOKEN_FILE": "/etc/overlord/github-token",
                    "OPENAI_BASE_URL": f"{as_seen_inside(model_url)}/v1",
                    "OPENAI_API_KEY_FILE": "/etc/overlord/openai-api-key",
                    "OVERLORD_MODEL": "scripted",
                }
            )
            for name, secret in (("github-token", forge.token), ("openai-api-key", model.key)):
                await machine.shell(
                    f"echo {secret} >/etc/overlord/{name}; chown overlord /etc/overlord/{name}; chmod 400 /etc/overlord/{name}"
                )
            (state / "overlord.yaml").write_text(json.dumps(SETTINGS))
            yield service
    finally:
        if engine.is_up and (left := docker("--host", engine.address, "ps", "--all", "--quiet").split()):
            docker("--host", engine.address, "rm", "--force", *left)
        await asyncio.to_thread(engine.remove)
        forge.close()
        shutil.rmtree(root, ignore_errors=True)


async def test_a_daemon_that_ends_or_stands_still_is_started_anew_and_a_machine_that_goes_down_loses_nothing() -> (
    None
):
    async with serviced() as service:
        machine = service.machine
        # The unit's own times but for these: two minutes without a pass, and ten seconds until a new start.
        await machine.drop_in("times", "WatchdogSec=30s", "RestartSec=1")
        doctor, _, start = written(1).partition("\nsystemctl ")
        found = await machine.shell(doctor.replace("overlord doctor", "overlord doctor --json"), ok=False)
        unwell = {item["what"] for item in json.loads(found) if item["health"] != "well"}
        assert unwell <= {f"{REPO} labels"}, found
        await machine.shell(f"systemctl {start}")
        first = await service.until_other("0")

        service.model.will(run(HELD), edit(*FIX), submit("add() adds again."))
        await service.forge.open_issue(REPO, "add() subtracts", "", labels=["nebulus-ready"])
        await service.until_asked(1)
        [minion] = service.sessions()
        await machine.shell("systemctl kill --kill-whom=main --signal=KILL overlord")
        second = await service.until_other(first)
        await machine.shell(f"kill -STOP {second}")
        await service.until_other(second)
        assert "Watchdog timeout" in await machine.shell("journalctl --no-pager --unit overlord")
        assert service.sessions() == [minion]

        third = (await machine.shown("MainPID"))["MainPID"]
        await machine.shell("systemctl stop overlord")
        ended = await machine.shown("Result", "ExecMainStatus", "ActiveState")
        assert ended == {"Result": "success", "ExecMainStatus": "0", "ActiveState": "inactive"}
        assert '"event": "stopped"' in await machine.shell(f"journalctl --no-pager _PID={third}")
        assert service.sessions() == [minion]

        await machine.shell("systemctl start overlord")
        await machine.lose_power()
        name = docker("--host", service.engine.address, "inspect", "--format", "{{.Name}}", minion)
        await asyncio.to_thread(service.engine.lose_power, name.lstrip("/"))
        await asyncio.to_thread(service.power_engine)
        await machine.power_on()
        await machine.until("systemctl is-active overlord", "active".__eq__)
        await service.until_asked(2)
        await machine.until("echo", lambda _: service.is_done())
        assert len(service.forge.pulls(REPO)) == 1
