"""A server as an operator sets it up: the folder `deploy/` copied, `.env` filled in, `docker compose` typed. GitHub and the model
are stand-ins of this test's, where the container reaches them: on the engine's bridge."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import yaml

from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.home import Home
from tests.adapters.engine import OwnEngine
from tests.architecture.test_imports import ROOT
from tests.required import missing
from tests.runners import IMAGE, docker, engine_or_skip, forget
from tests.world import CALC, REPO

DEADLINE_S = 180.0
"""How long a server may need in real time for one thing; only a broken one reaches it."""
USER = 10002 if os.getuid() == 0 else os.getuid()
SETTINGS = {"poll_s": 1, "sessions": {"grace_s": 1}, "docker": {"image": IMAGE}}
# A health check looks at once here, not after half a minute.
OVERRIDE = {"services": {"overlord": {"healthcheck": {"interval": "1s"}}}}


@dataclass
class Server:
    """One such machine."""

    folder: Path
    home: Path
    project: str
    forge: EmbeddedForge
    model: EmbeddedModel
    engine: str = ""
    """The address of the engine that sessions run in, where it is not the one that runs Overlord."""

    def fill_in(self, **values: str) -> None:
        """Change `.env`."""
        file = self.folder / ".env"
        file.write_text(filled_in(file.read_text(), values))

    def publish_the_page(self) -> None:
        """What the page says of a chat without Slack, on a port that nobody has."""
        page = (
            (self.folder / "README.md")
            .read_text(encoding="utf-8")
            .partition("\n## Talking without Slack\n")[2]
        )
        written = yaml.safe_load(page.partition("<<'END'\n")[2].partition("\nEND\n")[0])
        asked = written["services"]["overlord"]
        asked["ports"] = [port.replace(":8713:", "::") for port in asked["ports"]]
        assert all(port.startswith("127.0.0.1:") for port in asked["ports"])
        ours = OVERRIDE["services"]["overlord"] | asked
        (self.folder / "compose.override.yaml").write_text(json.dumps({"services": {"overlord": ours}}))

    async def compose(self, *words: str, ok: bool = True) -> str:
        """Type `docker compose …` in the folder; what it printed."""
        return await self._typed("docker", "compose", *words, ok=ok)

    async def shell(self, text: str) -> str:
        """Type these lines into a shell that ends at the first which fails."""
        return await self._typed("sh", "-euxc", text, ok=True)

    async def _typed(self, *command: str, ok: bool) -> str:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "COMPOSE_PROJECT_NAME": self.project,
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate()
        assert not ok or process.returncode == 0, f"{command}: {err.decode()}\n{await self._story()}"
        return out.decode() or err.decode()

    async def overlord(self, *words: str) -> str:
        """Type `overlord …` where the daemon runs."""
        return await self.compose("exec", "--no-TTY", "overlord", "overlord", *words, ok=False)

    async def logs(self) -> str:
        return await self.compose("logs", "--no-color", "--no-log-prefix", "overlord")

    def inspected(self) -> dict[str, Any]:
        """What the engine shows of Overlord's own container."""
        shown: list[dict[str, Any]] = json.loads(docker("inspect", f"{self.project}-overlord-1"))
        return shown[0]

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not holds():
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.2):
                            await asyncio.Event().wait()
        except TimeoutError:
            raise AssertionError(await self._story()) from None

    def sessions(self) -> list[str]:
        """The containers of this server's sessions that run now."""
        label = f"label=overlord.instance={Home(self.home).instance()}"
        where = ["--host", self.engine] if self.engine else []
        return docker(*where, "ps", "--quiet", "--filter", label).split()

    async def _story(self) -> str:
        words = ["docker", "compose", "--project-name", self.project, "logs", "--no-color"]
        told = await asyncio.to_thread(
            subprocess.run, words, cwd=self.folder, check=False, capture_output=True, text=True
        )
        return f"{told.stdout[-8000:]}\n{self.forge.transcript()}"


def filled_in(example: str, values: dict[str, str]) -> str:
    """`.env` from its example, with these values; each name must be one the example has."""
    for name, value in values.items():
        example, times = re.subn(rf"^#?{name}=.*$", f"{name}={value}", example, flags=re.MULTILINE)
        assert times == 1, f".env.example has {name} {times} times"
    return example


async def compose_or_skip() -> None:
    """Skip where there is no engine, no Compose v2 or no image; fail there when OVERLORD_REQUIRE says so."""
    await engine_or_skip()
    asked = await asyncio.to_thread(
        subprocess.run, ["docker", "compose", "version"], check=False, capture_output=True
    )
    if asked.returncode:
        missing("compose", "there is no `docker compose` (v2) here: run `.ci/compose`, or install it")
    built = await asyncio.to_thread(
        subprocess.run,
        [str(ROOT / "docker" / "images"), "--if-stale", "overlord"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr


def bridge() -> str:
    """This machine's address on the engine's bridge, which containers know as host.docker.internal."""
    [place] = json.loads(docker("network", "inspect", "bridge"))[0]["IPAM"]["Config"]
    return str(place.get("Gateway") or next(ip_network(place["Subnet"]).hosts()))


@contextlib.asynccontextmanager
async def set_up(
    files: Mapping[str, str] = CALC, *, engine: OwnEngine | None = None, **settings: Any
) -> AsyncIterator[Server]:
    """A folder that is ready for `docker compose up`; whatever it started is gone afterwards.

    `engine` is a second one, for the sessions; `settings` go into overlord.yaml.
    """
    root = Path(tempfile.mkdtemp(prefix="ov-", dir="/tmp"))
    forge, model = EmbeddedForge(root / "forge"), EmbeddedModel()
    folder, place = root / "deploy", root / "home"
    server = Server(folder, place, f"overlord-test-{uuid.uuid4().hex[:8]}", forge, model)
    socket = Path("/var/run/docker.sock")
    if engine is not None:
        server.engine, socket = engine.address, Path(engine.address.removeprefix("unix://"))
    try:
        await forge.create_repository(REPO, files=dict(files))
        async with forge.serve(host=bridge()) as forge_url, model.serve(host=bridge()) as model_url:
            _copy(server)
            _fill(server, {**SETTINGS, **settings})
            values = {
                "OVERLORD_HOME": str(place),
                "ENGINE_SOCKET": str(socket),
                "ENGINE_GROUP": str(socket.stat().st_gid),
                "DEPLOY_USER": f"{USER}:{USER}",
                "DEPLOY_PORT": "0",
                "DEPLOY_PAGE_PORT": "0",
                "OVERLORD_REPOS": REPO,
                "GITHUB_API_URL": as_seen_inside(forge_url),
                "GITHUB_TOKEN_FILE": "/run/secrets/github-token",
                "OPENAI_BASE_URL": f"{as_seen_inside(model_url)}/v1",
                "OVERLORD_MODEL": "scripted",
            }
            server.fill_in(**values)
            yield server
    finally:
        if folder.exists():
            await server.compose("down", "--timeout", "1", "--volumes", ok=False)
        if engine is None and (place / "instance").exists():
            if left := server.sessions():
                docker("rm", "--force", "--volumes", *left)
            forget(Home(place).instance())
        forge.close()
        shutil.rmtree(root, ignore_errors=True)


def as_seen_inside(url: str) -> str:
    """What serves on the engine's bridge, as containers name it."""
    return f"http://host.docker.internal:{url.rpartition(':')[2]}"


def _copy(server: Server) -> None:
    """What the operator copies and types: the folder, the state's place, the secrets, as the page has it."""
    folder = server.folder
    shutil.copytree(ROOT / "deploy", folder, ignore=shutil.ignore_patterns(".env", "secrets"))
    (folder / "compose.override.yaml").write_text(json.dumps(OVERRIDE))
    (folder / "downloaded.private-key.pem").write_text("of an App that nobody signs in as\n")
    written = (folder / "README.md").read_text(encoding="utf-8").partition("\n## Install\n")[2].split("```")
    for typed, pasted in ((written[3], ""), (written[5], f"{server.model.key}\n")):
        lines = typed.replace("/srv/overlord", str(server.home)).replace("10002", str(USER))
        command = ["sh", "-euc", lines]
        subprocess.run(command, cwd=folder, input=pasted, text=True, check=True, stdout=subprocess.DEVNULL)


def _fill(server: Server, settings: Mapping[str, Any]) -> None:
    """What else lies there: settings, and a token in the App's place."""
    of_settings, token = server.home / "overlord.yaml", server.folder / "secrets" / "github-token"
    for path, text, mode in ((of_settings, json.dumps(settings), 0o600), (token, server.forge.token, 0o400)):
        path.write_text(f"{text}\n")
        path.chmod(mode)
        os.chown(path, USER, USER)
