"""`overlord doctor`: looks at everything Overlord needs from this machine and its far ends.

Each finding says what was found and, where it is not well, what to do. It spends no model tokens.
"""

import asyncio
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from overlord.adapters.docker import DockerRunner
from overlord.adapters.docker_check import Wall, check_sandbox
from overlord.adapters.docker_engine import DockerEngine
from overlord.adapters.docker_profile import Profile
from overlord.adapters.http import open_client
from overlord.entrypoints.doctor_forge import examine_forge
from overlord.entrypoints.doctor_slack import examine_slack
from overlord.entrypoints.finding import Finding, Health
from overlord.errors import FarEndError, RunnerRefused, SettingsError
from overlord.home import Home
from overlord.settings import MAX_SOCKET_PATH, Settings

GIT_NEEDED = (2, 38)
"""The first with `git merge-tree --write-tree`."""
DISK_LOW_GB, DISK_SHORT_GB = 1, 5
MODEL_S = 10.0


async def examine(load: Callable[[], Settings], *, fix: bool = False) -> Sequence[Finding]:
    """Every finding, whatever else is wrong; `load` may raise SettingsError, which is one. `fix` makes missing labels."""
    try:
        settings = load()
    except SettingsError as error:
        return [Finding(what="configuration", health=Health.BAD, said=str(error)), await _git()]
    found = [_configuration(settings), await _git(), _disk(settings.home), _socket(settings.home)]
    found += [*await _runner(settings), await _model(settings)]
    return [*found, *await examine_forge(settings, fix=fix), *await examine_slack(settings)]


async def examine_sandbox(settings: Settings) -> Sequence[Wall]:
    """Try the walls on this engine, with this image and runtime. Raises RunnerUnavailable, RunnerRefused."""

    def make(root: Path, command: Sequence[str]) -> DockerRunner:
        return DockerRunner(
            root,
            image=settings.docker.image,
            instance=f"doctor-{uuid.uuid4().hex[:8]}",
            profile=Profile(runtime=settings.docker.runtime or None),
            command=command,
            address=settings.docker.host or None,
        )

    return await check_sandbox(make)


def _configuration(settings: Settings) -> Finding:
    if not settings.repositories:
        said = "sound, but no repository is named: set OVERLORD_REPOS=owner/repo"
        return Finding(what="configuration", health=Health.BAD, said=said)
    return Finding(
        what="configuration", health=Health.WELL, said=f"sound; {', '.join(settings.repositories)}"
    )


async def _git() -> Finding:
    wanted = ".".join(map(str, GIT_NEEDED))
    if shutil.which("git") is None:
        return Finding(what="git", health=Health.BAD, said=f"not found; install git {wanted} or newer")
    process = await asyncio.create_subprocess_exec("git", "version", stdout=asyncio.subprocess.PIPE)
    said = (await process.communicate())[0].decode().removeprefix("git version ").strip()
    numbers = tuple(int(part) for part in said.split(".")[:2] if part.isdecimal())
    if numbers < GIT_NEEDED:
        return Finding(what="git", health=Health.BAD, said=f"{said} is too old; {wanted} is needed")
    return Finding(what="git", health=Health.WELL, said=said)


def _disk(home: Path) -> Finding:
    place = next(path for path in (home, *home.parents) if path.exists())
    free_gb = shutil.disk_usage(place).free / 1e9
    said = f"{free_gb:.0f} GB free for {home}"
    if free_gb < DISK_LOW_GB:
        return Finding(what="disk", health=Health.BAD, said=f"{said}; mirrors and evidence need more")
    return Finding(what="disk", health=Health.WARN if free_gb < DISK_SHORT_GB else Health.WELL, said=said)


def _socket(home: Path) -> Finding:
    length = len(str(Home(home).socket("any")).encode())
    said = f"{length} of the {MAX_SOCKET_PATH} bytes a socket's path may have"
    return Finding(what="home", health=Health.WELL, said=said)


async def _runner(settings: Settings) -> Sequence[Finding]:
    if settings.runner == "process":
        said = "process: sessions run as programs of this user, with no walls; use docker for untrusted work"
        return [Finding(what="runner", health=Health.WARN, said=said)]
    # Without an engine `auto` still works, and the line shows what it lacks then.
    missing = Health.BAD if settings.runner == "docker" else Health.WARN
    engine, found = DockerEngine(address=settings.docker.host or None), []
    try:
        found.append(_engine(await engine.info(), settings.docker.runtime))
        found.append(_image(settings.docker.image, await engine.image(settings.docker.image)))
    except RunnerRefused as error:
        found.append(Finding(what="image", health=missing, said=f"{error}; run `make images`"))
    except FarEndError as error:
        found.append(Finding(what="engine", health=missing, said=str(error)))
    finally:
        engine.close()
    return found


def _engine(info: Mapping[str, Any], runtime: str) -> Finding:
    lacks = [
        words
        for name, words in (
            ("MemoryLimit", "memory limits"),
            ("SwapLimit", "swap limits (boot with swapaccount=1)"),
            ("PidsLimit", "process limits"),
            ("CpuCfsQuota", "CPU limits"),
        )
        if info.get(name) is False
    ]
    if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
        lacks.append("seccomp")
    if runtime and runtime not in (info.get("Runtimes") or {}):
        lacks.append(f"the runtime {runtime}")
    said = f"Docker {info['ServerVersion']}, cgroup {info.get('CgroupVersion', '?')}"
    if lacks:
        return Finding(what="engine", health=Health.BAD, said=f"{said}; it lacks {', '.join(lacks)}")
    if not info.get("LiveRestoreEnabled"):
        said += "; a restart of the engine ends running sessions (live-restore is off)"
    return Finding(what="engine", health=Health.WELL, said=said)


def _image(name: str, shown: Mapping[str, Any]) -> Finding:
    said = f"{name}, {shown['Size'] / 1e6:.0f} MB, built {shown['Created'][:10]}"
    return Finding(what="image", health=Health.WELL, said=said)


async def _model(settings: Settings) -> Finding:
    """Ask for the endpoint's list of models: it costs nothing, and a wrong key or name shows."""
    endpoint = settings.model
    if not endpoint.base_url or not endpoint.name:
        said = "none: set OPENAI_BASE_URL, OPENAI_API_KEY and OVERLORD_MODEL"
        return Finding(what="model", health=Health.BAD, said=said)
    url, key = f"{endpoint.base_url.rstrip('/')}/models", endpoint.api_key.get_secret_value()
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        async with open_client(endpoint.base_url, httpx.Timeout(MODEL_S)) as client:
            reply = await client.get(url, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        said = f"{endpoint.base_url} gives no reply ({type(error).__name__})"
        return Finding(what="model", health=Health.BAD, said=said)
    return _models(endpoint.name, endpoint.base_url, reply)


def _models(name: str, where: str, reply: httpx.Response) -> Finding:
    if reply.status_code in {401, 403}:
        said = f"{where} does not take the key ({reply.status_code}); see OPENAI_API_KEY"
        return Finding(what="model", health=Health.BAD, said=said)
    try:
        known = {item["id"].removeprefix("models/") for item in reply.json()["data"]}
    except (ValueError, LookupError, TypeError, AttributeError):
        said = f"{where} answers ({reply.status_code}) and does not list its models; {name} was not looked up"
        return Finding(what="model", health=Health.WARN, said=said)
    if name.removeprefix("models/") not in known:
        return Finding(
            what="model", health=Health.WARN, said=f"{where} does not list {name}; see OVERLORD_MODEL"
        )
    return Finding(what="model", health=Health.WELL, said=f"{name} at {where}")
