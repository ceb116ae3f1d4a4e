"""`overlord doctor` where sessions run on a swarm: what it says of one that is ready, and of each thing that is missing."""

import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from overlord.adapters.runner_choice import minion_stamp
from overlord.adapters.swarm.placement import meets
from overlord.adapters.swarm.profile_check import ON_DISK
from overlord.adapters.swarm.sandbox_check import PROMISED
from overlord.embedded.server import serve
from overlord.embedded.swarm_lab import HOST, SwarmLab
from overlord.entrypoints.cli.command_list import app as overlord
from overlord.entrypoints.cli.commands.doctor import WALLS
from overlord.entrypoints.cli.main import run
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.entrypoints.doctor.swarm import examine_services, examine_swarm
from overlord.errors import RunnerRefused
from overlord.settings.load import Settings, load
from tests.labs import SwarmKit, nodes_lock, shared_lab
from tests.puppet import SessionApi
from tests.runners import IMAGE, docker, engine_or_skip

Examined = Callable[..., Settings]


def node(number: int, **differs: Any) -> dict[str, Any]:
    """A node as a manager lists it."""
    own = {"role": "worker", "state": "ready", "availability": "active", "labels": {}, "engine": "20.10.24"}
    own |= differs
    return {
        "ID": f"id{number}",
        "Spec": {"Role": own["role"], "Availability": own["availability"], "Labels": own["labels"]},
        "Description": {
            "Hostname": f"node-{number}",
            "Platform": {"Architecture": "x86_64", "OS": "linux"},
            "Engine": {"EngineVersion": own["engine"], "Labels": {"disk": "ssd"}},
        },
        "Status": {"State": own["state"], "Addr": f"10.0.0.{number}"},
    }


@dataclass
class Engine:
    """The far end: what an engine answers to the questions of the doctor."""

    nodes: list[dict[str, Any]] = field(default_factory=lambda: [node(1, role="manager"), node(2)])
    swarm: dict[str, Any] = field(
        default_factory=lambda: {"LocalNodeState": "active", "ControlAvailable": True, "NodeID": "id1"}
    )
    api: str = "1.46"
    stamp: str = field(default_factory=minion_stamp)
    images: tuple[str, ...] = ("overlord-minion:latest", "sha256:one")
    pushed: bool = False
    address: str = ""

    async def answer(self, request: Request) -> JSONResponse:
        path = request.path_params["path"].removeprefix(f"v{self.api}/")
        if path == "version":
            return JSONResponse({"ApiVersion": self.api})
        if path == "info":
            return JSONResponse({"ServerVersion": "27.1.0", "Name": "node-1", "Swarm": self.swarm})
        if path == "nodes":
            return JSONResponse(self.nodes)
        if path in {f"images/{name}/json" for name in self.images}:
            labels = {"overlord.minion": self.stamp}
            shown = {"Id": "sha256:one", "Size": 1, "Created": "2026-11-28", "Config": {"Labels": labels}}
            return JSONResponse(shown)
        if path.startswith("distribution/") and self.pushed:
            return JSONResponse({"Descriptor": {"digest": f"sha256:{'a' * 64}"}})
        return JSONResponse({"message": f"there is no {path}"}, status_code=404)


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with serving(Engine()) as engine:
        yield engine


def serving(engine: Engine) -> "Serving":
    return Serving(engine)


class Serving:
    """An engine that listens while the block runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._served = serve(Starlette(routes=[Route("/{path:path}", engine.answer)]))

    async def __aenter__(self) -> Engine:
        self._engine.address = (await self._served.__aenter__()).replace("http://", "tcp://")
        return self._engine

    async def __aexit__(self, *exception: Any) -> None:
        await self._served.__aexit__(*exception)


def settings(home: Path, address: str, **own: Any) -> Settings:
    listener = own.pop("session_listener", {"address": "127.0.0.1:8714"})
    return load(
        {"OVERLORD_HOME": str(home)},
        runner="swarm",
        swarm={"address": address, **own},
        session_listener=listener,
    )


async def found(home: Path, engine: Engine, **own: Any) -> dict[str, Finding]:
    return {item.what: item for item in await examine_swarm(settings(home, engine.address, **own))}


async def test_a_swarm_that_is_ready_is_well(engine: Engine, tmp_path: Path) -> None:
    engine.nodes = [node(1, role="manager", engine="27.1.0"), node(2, engine="28.0.1")]
    engine.pushed = True
    findings = await found(tmp_path, engine, registry="registry.test:5000/team")
    assert {what: item.said for what, item in findings.items()} == {
        "swarm": "Docker 27.1.0, API 1.46, on node-1, 1 manager",
        "nodes": "2 ready",
        "placement": "sessions run on node-1, node-2",
        "walls": "services can be asked for all of them",
        "image": "overlord-minion:latest, 0 MB, built 2026-11-28",
        "registry": "registry.test:5000/team/overlord-minion:latest, sha256:aaaaaaaaaaaa",
    }
    assert {item.health for item in findings.values()} == {Health.WELL}


@pytest.mark.parametrize(
    ("lack", "own", "what", "health", "words"),
    [
        ({"swarm": {"LocalNodeState": "inactive"}}, {}, "swarm", Health.BAD, "`docker swarm init`"),
        ({"swarm": {"LocalNodeState": "locked"}}, {}, "swarm", Health.BAD, "`docker swarm unlock`"),
        ({"swarm": {"LocalNodeState": "active"}}, {}, "swarm", Health.BAD, "is a worker of its swarm"),
        ({}, {}, "placement", Health.WARN, "node-1, the manager's own node, alone"),
        (
            {"nodes": [node(1), node(2, state="down"), node(3, availability="drain")]},
            {},
            "nodes",
            Health.WARN,
            "1 ready, 1 drained or paused (node-3), 1 down (node-2)",
        ),
        ({"nodes": [node(1, availability="drain")]}, {}, "nodes", Health.BAD, "0 ready"),
        ({"nodes": [node(1, availability="drain")]}, {}, "placement", Health.BAD, "no node takes sessions"),
        (
            {},
            {"constraints": ["node.labels.sessions==yes"], "registry": "r.test/x"},
            "placement",
            Health.BAD,
            "swarm.constraints (node.labels.sessions==yes) leave none of node-1, node-2",
        ),
        ({}, {"constraints": ["node.id==id2"]}, "placement", Health.BAD, "the manager's own node alone"),
        ({"images": ()}, {}, "image", Health.BAD, "run `make images`"),
        ({"stamp": "old"}, {}, "image", Health.BAD, "another version of the Minion"),
        ({}, {"registry": "r.test/x"}, "registry", Health.WARN, "the first session pushes it"),
        ({"api": "1.43"}, {}, "walls", Health.WARN, "no-new-privileges"),
        ({"api": "1.45"}, {}, "walls", Health.WARN, "/work is on the node's disk"),
        ({}, {}, "walls", Health.WARN, "node-1, node-2: an engine before 27"),
        ({}, {"engines": ["tcp://127.0.0.1:9"]}, "engine tcp://127.0.0.1:9", Health.BAD, "no Docker engine"),
        ({}, {"engines": ["tcp://127.0.0.1:9"]}, "swarm.engines", Health.BAD, "lays images on node-2"),
    ],
)
async def test_what_is_missing_is_told(
    engine: Engine, tmp_path: Path, lack: dict[str, Any], own: Any, what: str, health: Health, words: str
) -> None:
    for name, value in lack.items():
        setattr(engine, name, value)
    finding = (await found(tmp_path, engine, **own))[what]
    assert (finding.health, words in finding.said) == (health, True), finding


async def test_engines_of_the_settings_are_asked_which_node_they_are(engine: Engine, tmp_path: Path) -> None:
    async with serving(Engine(swarm={"NodeID": "id2"})) as second:
        findings = await found(tmp_path, engine, engines=[second.address])
        assert findings[f"engine {second.address}"].said == "node-2, which has the image"
        assert "swarm.engines" not in findings
        second.images = ()
        finding = (await found(tmp_path, engine, engines=[second.address]))[f"engine {second.address}"]
        assert (finding.health, "the first session lays it" in finding.said) == (Health.WELL, True)
        second.swarm = {"NodeID": "another's"}
        finding = (await found(tmp_path, engine, engines=[second.address]))[f"engine {second.address}"]
        assert (finding.health, "no node of this swarm" in finding.said) == (Health.BAD, True)


@pytest.mark.parametrize(
    ("constraint", "is_met"),
    [
        ("node.hostname==NODE-1", True),
        ("node.hostname != node-1", False),
        ("node.id==id1", True),
        ("node.role==manager", False),
        ("node.platform.os==linux", True),
        ("node.platform.arch==amd64", True),
        ("node.labels.zone==a", True),
        ("node.labels.none==a", False),
        ("node.labels.none!=a", True),
        ("engine.labels.disk==ssd", True),
        ("node.ip==10.0.0.0/24", True),
        ("node.ip!=10.0.0.0/24", False),
        ("node.ip==10.9.0.0/24", False),
        ("node.ip==somewhere", False),
        ("node.unheard!=of", False),
    ],
)
def test_a_constraint_is_read_as_a_manager_reads_it(constraint: str, is_met: bool) -> None:
    assert meets(node(1, labels={"zone": "a"}), [constraint]) is is_met


@pytest.mark.docker
async def test_an_engine_without_a_swarm_is_told_how_to_make_one(tmp_path: Path) -> None:
    await engine_or_skip()
    if docker("info", "--format", "{{.Swarm.LocalNodeState}}") != "inactive":
        pytest.skip("this machine's engine is in a swarm")
    [finding] = await examine_swarm(settings(tmp_path, ""))
    assert (finding.what, finding.health) == ("swarm", Health.BAD)
    assert "`docker swarm init`" in finding.said
    with pytest.raises(RunnerRefused, match="docker swarm init"):
        await examine_services(settings(tmp_path, ""))


async def test_the_walls_are_tried_with_a_relay_alone(engine: Engine, tmp_path: Path) -> None:
    for address in ("", "127.0.0.1:0"):
        asked = settings(tmp_path, engine.address, session_listener={"address": address})
        with pytest.raises(RunnerRefused, match=r"session_listener\.address"):
            await examine_services(asked)
    nowhere = settings(tmp_path, engine.address, constraints=["node.labels.none==x"])
    with pytest.raises(RunnerRefused, match=r"swarm\.constraints"):
        await examine_services(nowhere)


def test_the_runner_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERLORD_HOME", str(tmp_path))
    assert run(lambda: overlord(["doctor", "--sandbox", "--runner", "swarm"])) not in {0, 2}
    assert "sessions on a swarm are tried with their relay" in capsys.readouterr().err


def test_every_wall_of_a_service_has_words() -> None:
    assert set(PROMISED) <= set(WALLS)


@pytest.fixture(scope="module")
def lab() -> Iterator[SwarmLab]:
    with shared_lab() as lab, nodes_lock(alone=False):
        yield lab


@pytest.fixture
def of_lab(lab: SwarmLab, tmp_path: Path) -> Settings:
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    return settings(
        tmp_path,
        lab.manager.address,
        engines=[each.address for each in lab.nodes[1:]],
        session_listener={"address": f"{HOST}:{port}"},
    )


@pytest.mark.docker
async def test_a_real_swarm_is_well(lab: SwarmLab, of_lab: Settings) -> None:
    findings = {item.what: item for item in await examine_swarm(of_lab)}
    unwell = {what: item for what, item in findings.items() if item.health is not Health.WELL}
    assert set(unwell) <= {"walls"}, unwell
    assert findings["nodes"].said == f"{len(lab.nodes)} ready"
    assert findings["image"].said.startswith(IMAGE)
    for each in lab.nodes[1:]:
        assert findings[f"engine {each.address}"].said == f"{each.name}, which has the image"


@pytest.mark.docker
async def test_the_walls_of_a_swarm_hold_on_every_node(
    lab: SwarmLab, of_lab: Settings, tmp_path: Path
) -> None:
    walls = await examine_services(of_lab)
    assert [wall for wall in walls if not wall.holds] == []
    assert [(wall.node, wall.point) for wall in walls] == [
        (each.name, point) for each in lab.nodes for point in PROMISED
    ]
    assert {wall.detail for wall in walls} <= {"", ON_DISK}
    kit = SwarmKit(tmp_path, SessionApi(tmp_path), lab, instance="overlord-doctor-")
    assert await kit.emptied() == {}, "it leaves nothing behind"
