"""Real coding agents as callers: how each is started on this machine without anything of a person's, and where its program is."""

import json
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.agent_programs import EXECUTABLES
from overlord.entrypoints.mcp.install import change
from overlord.entrypoints.mcp.install.client import CLIENTS, ClientName, ClientScope, Server
from tests.agents.outer_model import MODEL
from tests.runners import docker

ASK = "Do what your model says."
PLACE = "REAL_AGENTS_AT"
"""Names a directory that has the agents' programs; without it they are taken from the images of `make agents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealClient:
    """One agent."""

    name: ClientName
    program: str
    words: Callable[[Path, str], tuple[str, ...]]
    """What it is called with, by the directory of its configuration and the address of its model."""
    variables: Callable[[Path, str], Mapping[str, str]]
    before: Callable[[Path, str], tuple[str, str]] | None = None
    """A file that is there before Overlord is written into it: its name and its content."""


def _claude(room: Path, _model: str) -> tuple[str, ...]:
    allowed = "mcp__overlord"
    return (
        *("-p", ASK, "--output-format", "stream-json", "--verbose", "--bare", "--model", MODEL),
        *("--permission-mode", "dontAsk", "--allowedTools", allowed, "--strict-mcp-config"),
        *("--mcp-config", str(room / ".mcp.json"), "--setting-sources", ""),
    )


def _codex(_room: Path, model: str) -> tuple[str, ...]:
    provider = (
        f'{{name="ov",base_url="{model}/v1",env_key="OV_KEY",wire_api="responses",request_max_retries=0,'
        "stream_max_retries=0}"
    )
    return (
        *("exec", "--json", "--ephemeral", "--skip-git-repo-check"),
        *("--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=ov"),
        *("-c", f"model_providers.ov={provider}", "-m", MODEL, ASK),
    )


def _opencode_file(_room: Path, model: str) -> tuple[str, str]:
    options = {"baseURL": f"{model}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {MODEL: {}}}
    said = json.dumps({"provider": {"ov": provider}, "permission": {"*": "allow"}}, indent=2)
    return "opencode.json", f"// mine\n{said}\n"


CALLERS = (
    RealClient(
        name=ClientName.CLAUDE,
        program="claude-code",
        words=_claude,
        variables=lambda _room, model: {
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    ),
    RealClient(
        name=ClientName.CODEX,
        program="codex",
        words=_codex,
        variables=lambda room, _model: {"CODEX_HOME": str(room / ".codex"), "OV_KEY": "none"},
    ),
    RealClient(
        name=ClientName.OPENCODE,
        program="opencode",
        words=lambda _room, _model: ("run", "--print-logs", "--format", "json", "-m", f"ov/{MODEL}", ASK),
        variables=lambda _room, _model: {"OPENCODE_DISABLE_AUTOUPDATE": "1"},
        before=_opencode_file,
    ),
)


def configured(client: RealClient, room: Path, model: str, server: Server) -> None:
    """Write its configuration as `overlord mcp install` does."""
    if client.before is not None:
        name, content = client.before(room, model)
        (room / name).write_text(content, encoding="utf-8")
    known = CLIENTS[client.name]
    path = room / known.project
    change.install(known, ClientScope.PROJECT, path, server, root=room).carry_out()


def environment(client: RealClient, room: Path, model: str) -> dict[str, str]:
    """All that it is started with."""
    home = room / "home"
    home.mkdir(exist_ok=True)
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "OVERLORD_TOKEN": "", "IS_SANDBOX": "1"}
    return {**plain, **client.variables(room, model)}


def program_of(client: RealClient, room: Path) -> Path:
    """Its program, of the directory that is named or of its image."""
    place = Path(os.environ.get(PLACE) or _of_image(client.program, room / "program"))
    names = EXECUTABLES[client.program]
    found = [path for name in names for path in sorted(place.rglob(name)) if _is_program(path)]
    assert found, f"{place} has no program of {client.program}"
    return found[0]


def _of_image(program: str, place: Path) -> Path:
    """The files of an image, without a container that runs."""
    made = docker("create", f"overlord-minion-{program}", "-").strip()
    try:
        subprocess.run(["docker", "cp", f"{made}:/opt/agents", str(place)], check=True, capture_output=True)
    finally:
        docker("rm", made)
    return place


def _is_program(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_mode & stat.S_IXUSR:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
