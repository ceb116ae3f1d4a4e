"""`docker compose up -d`, and it runs: the folder an operator copies, on a real engine."""

import asyncio
import json
import os

import httpx
import pytest

from overlord.embedded.play import edit, run, submit
from overlord.embedded.server import serve
from overlord.home import Home
from tests.adapters.engine import OwnEngine
from tests.deploy.server import USER, Server, as_seen_inside, bridge, compose_or_skip, set_up
from tests.required import missing
from tests.runners import IMAGE, docker
from tests.scenarios.test_traces import Collector
from tests.world import CALC, FIX, REPO

pytestmark = pytest.mark.docker

HELD = "until test -e /run/door/go; do sleep 0.02; done"


async def test_a_labelled_issue_becomes_a_pull_request_across_a_restart_and_down_keeps_the_state() -> None:
    await compose_or_skip()
    collector, files = Collector(), {**CALC, ".nebulus/environment.yaml": "setup: ['true']\n"}
    async with set_up(files) as server, serve(collector.app(), host=bridge()) as url:
        server.fill_in(OTEL_EXPORTER_OTLP_ENDPOINT=as_seen_inside(url))
        await _check_doctor(server)
        await server.compose("up", "--detach", "--wait")
        _check_walls(server)

        server.model.will(run(HELD), edit(*FIX), submit("add() adds again."))
        await server.forge.open_issue(REPO, "add() subtracts", "", labels=["nebulus-ready"])
        await server.until(lambda: len(server.model.requests) == 1)
        [minion] = server.sessions()
        await server.compose("restart", "overlord")
        assert server.sessions() == [minion]
        (Home(server.home).session_api("j1-work-1") / "go").touch()
        await server.until(lambda: [pull.draft for pull in server.forge.pulls(REPO)] == [False])

        await _check_settings(server)
        assert "The daemon was asked to tidy the mirrors." in await server.overlord("gc")
        await server.until(lambda: not Home(server.home).keep_asked.exists())
        said = await server.logs()
        await server.until(lambda: bool(collector.named("session check")))
        assert len(collector.named("session work")) == 1
        assert '"event": "no_chat"' in said and "Talking without Slack" in said
        assert "8713" not in docker("port", f"{server.project}-overlord-1")
        said += b"".join(collector.bodies).decode(errors="replace")
        await server.compose("down")
        assert docker("ps", "--all", "--quiet", "--filter", f"name={server.project}") == ""
        server.publish_the_page()
        await server.compose("up", "--detach", "--wait")
        await _check_page(server)
        [job] = json.loads(await server.overlord("job", "list", "--json"))
        assert (job["state"], job["revision"]) == ("in_review", 0), job
        events = [
            json.loads(line)["name"] for line in (await server.overlord("ledger", "export")).splitlines()
        ]
        assert (events.count("daemon_started"), events.count("session_started")) == (3, 1), events
        assert "whole" in await server.overlord("ledger", "verify")
        assert len(server.forge.pulls(REPO)) == 1

        said += await server.logs() + await _scraped(server)
        await _check_restore(server)
        said += await server.logs()
        assert '"event": "serving"' in said and '"event": "stopped"' in said
        assert 'overlord_jobs{space="acme/calc",state="in_review"} 1.0' in said
        assert [secret for secret in (server.forge.token, server.model.key) if secret in said] == []
        await _check_uninstall(server)


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("ENGINE_GROUP", "which group may use the engine's socket: stat -c %g /run/docker.sock"),
        ("OVERLORD_HOME", "say in .env where the state is kept, as /srv/overlord"),
        ("home", "bind source path does not exist"),
        ("secrets", "bind source path does not exist"),
    ],
)
async def test_what_is_not_there_yet_is_said_and_nothing_is_made_in_its_place(lacks: str, said: str) -> None:
    await compose_or_skip()
    async with set_up() as server:
        place = {"home": server.home, "secrets": server.folder / "secrets"}.get(lacks)
        if place is not None:
            place.rename(place.with_name("elsewhere"))
        else:
            server.fill_in(**{lacks: ""})
        assert said in await server.compose("up", "--detach", "--wait", ok=False)
        assert place is None or not place.exists()
        if place is None:
            server.fill_in(ENGINE_GROUP="0", OVERLORD_HOME=str(server.home))  # for `down`


async def test_sessions_can_run_in_a_second_engine_beside_the_one_that_runs_overlord() -> None:
    await compose_or_skip()
    if os.getuid() != 0:
        missing("docker", "only root can start a Docker engine")
    engine = OwnEngine()
    try:
        await asyncio.to_thread(engine.start)
        await asyncio.to_thread(engine.load, IMAGE)
        async with set_up(engine=engine) as server:
            await server.compose("up", "--detach", "--wait")
            server.model.will(run(HELD), edit(*FIX), submit("add() adds again."))
            await server.forge.open_issue(REPO, "add() subtracts", "", labels=["nebulus-ready"])
            await server.until(lambda: len(server.model.requests) == 1)
            assert len(server.sessions()) == 1
            assert docker("ps", "--quiet", "--filter", f"name={Home(server.home).instance()}") == ""
            (Home(server.home).session_api("j1-work-1") / "go").touch()
            await server.until(lambda: [pull.draft for pull in server.forge.pulls(REPO)] == [False])
    finally:
        await asyncio.to_thread(engine.remove)


async def _check_settings(server: Server) -> None:
    """A saved change is looked at without a restart: what waits for one is told of, and not any more once it is taken back."""
    file = server.home / "overlord.yaml"
    before = json.loads(file.read_text())
    waits = "counts after a restart: docker.timeout_s"
    ask = ("exec", f"{server.project}-overlord-1", "overlord", "status")
    file.write_text(json.dumps({**before, "docker": {**before["docker"], "timeout_s": 77}}))
    await server.until(lambda: waits in docker(*ask))
    file.write_text(json.dumps(before))
    await server.until(lambda: waits not in docker(*ask))


async def _check_page(server: Server) -> None:
    """The chat page is there for who has the address of the log, on this machine alone."""
    [told] = [line for line in (await server.logs()).splitlines() if '"talk_here"' in line]
    address = json.loads(told[told.index("{") :])["page"]  # Compose clears lines before it writes them
    assert address.startswith("http://127.0.0.1:8713/?token=")
    place = await server.compose("port", "overlord", "8713")
    assert place.startswith("127.0.0.1:")
    async with httpx.AsyncClient(base_url=f"http://{place.strip()}") as page:
        assert (await page.get("/")).status_code == 403
        assert (await page.get("/?" + address.partition("?")[2])).is_success


async def _scraped(server: Server) -> str:
    """What a Prometheus beside the daemon is told."""
    ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8712/metrics').read().decode())"
    return await server.compose("exec", "--no-TTY", "overlord", "python", "-P", "-c", ask)


async def _check_restore(server: Server) -> None:
    """What the page says of backup and restore, typed; the home that was made of it goes on where the other one was."""
    page = (server.folder / "README.md").read_text(encoding="utf-8")
    written = page.partition("## Backup and restore")[2].split("```")
    here = {"/srv/overlord": str(server.home), "10002": str(USER), "$(date +%F)": "1", "2026-11-22": "1"}
    here |= {"exec overlord": "exec --no-TTY overlord", "run --rm": "run --rm --no-TTY"}
    for line, typed in here.items():
        written = [text.replace(line, typed) for text in written]
    await server.shell(written[1])
    await server.shell(f"cp {server.home}/backup-1.tar.gz .")
    await server.shell(written[3])
    [job] = json.loads(await server.overlord("job", "list", "--json"))
    assert job["state"] == "in_review", job
    assert "whole" in await server.overlord("ledger", "verify")
    [pull] = server.forge.pulls(REPO)
    await server.forge.merge(REPO, pull.number)
    await server.until(lambda: "in-review" not in server.forge.issues(REPO)[0].labels)


async def _check_uninstall(server: Server) -> None:
    """What the page says takes Overlord away, but for images that others use; nothing is left of it."""
    page = (server.folder / "README.md").read_text(encoding="utf-8")
    written = page.partition("## Uninstall")[2].split("```")[1].replace("/srv/overlord", str(server.home))
    instance, lines = (
        Home(server.home).instance(),
        [line for line in written.splitlines() if "image rm o" not in line],
    )
    images = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
    assert f"overlord-ground:{instance}-" in images and f"overlord-environment:{instance}-" in images
    assert instance in docker("volume", "ls")
    docker("create", "--label", f"overlord.instance={instance}", IMAGE)
    await server.shell("\n".join(lines))
    assert not server.home.exists()
    assert instance not in docker("image", "ls") + docker("volume", "ls")
    assert docker("ps", "--all", "--quiet", "--filter", f"label=overlord.instance={instance}") == ""
    assert docker("ps", "--all", "--quiet", "--filter", f"name={server.project}") == ""


def _check_walls(server: Server) -> None:
    """What the engine was asked for, as it shows it."""
    shown = server.inspected()
    host, config = shown["HostConfig"], shown["Config"]
    assert config["User"].split(":")[0] not in {"", "0"}
    assert host["ReadonlyRootfs"] and not host["Privileged"] and host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Memory"] == host["MemorySwap"] > 0 and host["NanoCpus"] and host["PidsLimit"]
    assert host["RestartPolicy"]["Name"] == "unless-stopped"
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "5"}}
    bindings = host["PortBindings"]
    assert bindings.keys() == {"8712/tcp", "8711/tcp"}
    assert {binding["HostIp"] for one in bindings.values() for binding in one} == {"127.0.0.1"}
    mounts = {mount["Destination"]: (mount["Source"], mount["RW"]) for mount in shown["Mounts"]}
    assert mounts[str(server.home)] == (str(server.home), True)
    assert mounts["/run/secrets"][1] is False
    assert set(mounts) == {str(server.home), "/run/secrets", "/run/engine.sock"}
    environment = "\n".join(config["Env"])
    assert server.forge.token not in environment and server.model.key not in environment


async def _check_doctor(server: Server) -> None:
    """As before the first start: everything is well, and every wall of a session's container holds."""
    run = ("run", "--rm", "--no-TTY", "overlord", "doctor", "--json")
    found = {item["what"]: item for item in json.loads(await server.compose(*run, ok=False))}
    assert {what for what, item in found.items() if item["health"] != "well"} <= {f"{REPO} labels"}, found
    walls = json.loads(await server.compose(*run, "--sandbox", ok=False))
    assert len(walls) > 20 and [wall for wall in walls if not wall["holds"]] == []
