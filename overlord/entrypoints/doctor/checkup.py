"""`overlord doctor`: looks at everything Overlord needs from this machine and its external services.

Each finding says what was found and, where it is not well, what to do. It spends one token of a model at most.
"""

import asyncio
import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile
from overlord.adapters.docker.profile_check import Wall, check_sandbox
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.docker.sight import sees
from overlord.adapters.runner_choice import minion_stamp
from overlord.entrypoints.doctor.agents import examine_agents
from overlord.entrypoints.doctor.finding import Finding, Health, bad
from overlord.entrypoints.doctor.forge import examine_forge
from overlord.entrypoints.doctor.hooks import examine_hooks
from overlord.entrypoints.doctor.kubernetes import examine_kubernetes, examine_pods
from overlord.entrypoints.doctor.machine import examine_machine
from overlord.entrypoints.doctor.model import examine_model
from overlord.entrypoints.doctor.session_listener import examine_session_listener
from overlord.entrypoints.doctor.slack import examine_slack
from overlord.entrypoints.doctor.swarm import examine_services, examine_swarm
from overlord.errors import ExternalServiceError, RunnerRefused, SettingsError
from overlord.home import Home
from overlord.settings.load import Settings

GIT_NEEDED = (2, 38)
"""The first with `git merge-tree --write-tree`."""


async def examine(load: Callable[[], Settings], *, fix: bool = False) -> Sequence[Finding]:
    """Every finding, whatever else is wrong; `load` may raise SettingsError, which is one. `fix` makes missing labels."""
    try:
        settings = load()
    except SettingsError as error:
        return [Finding(what="configuration", health=Health.BAD, said=str(error)), await _git()]
    found = [_configuration(settings), await _git(), *await examine_machine(settings)]
    found += examine_hooks(settings)
    found += [*await _runner(settings), *await examine_session_listener(settings)]
    found += [*await examine_agents(settings), *await examine_model(settings)]
    return [*found, *await examine_forge(settings, fix=fix), *await examine_slack(settings)]


async def examine_sandbox(settings: Settings) -> Sequence[Wall]:
    """Try the walls on this engine, swarm or cluster, with this image and runtime. Raises SettingsError, RunnerUnavailable,
    RunnerRefused."""
    if settings.runner == "kubernetes":
        return await examine_pods(settings)
    if settings.runner == "swarm":
        return await examine_services(settings)

    def make(root: Path, command: Sequence[str]) -> DockerRunner:
        return DockerRunner(
            root,
            image=settings.docker.image,
            instance=f"doctor-{uuid.uuid4().hex[:8]}",
            profile=Profile(runtime=settings.docker.runtime or None),
            command=command,
            address=settings.docker.host or None,
        )

    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return await check_sandbox(make, within=settings.home)


def _configuration(settings: Settings) -> Finding:
    if not settings.repositories:
        text = "sound, but no repository is named: set OVERLORD_REPOS=owner/repo"
        return Finding(what="configuration", health=Health.BAD, said=text)
    return Finding(
        what="configuration", health=Health.WELL, said=f"sound; {', '.join(settings.repositories)}"
    )


async def _git() -> Finding:
    wanted = ".".join(map(str, GIT_NEEDED))
    if shutil.which("git") is None:
        return Finding(what="git", health=Health.BAD, said=f"not found; install git {wanted} or newer")
    process = await asyncio.create_subprocess_exec("git", "version", stdout=asyncio.subprocess.PIPE)
    text = (await process.communicate())[0].decode().removeprefix("git version ").strip()
    numbers = tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())
    if numbers < GIT_NEEDED:
        return Finding(what="git", health=Health.BAD, said=f"{text} is too old; {wanted} is needed")
    return Finding(what="git", health=Health.WELL, said=text)


async def _runner(settings: Settings) -> Sequence[Finding]:
    if settings.runner == "process":
        text = "process: sessions run as programs of this user, with no walls; use docker for untrusted work"
        return [Finding(what="runner", health=Health.WARN, said=text)]
    if settings.runner == "kubernetes":
        return await examine_kubernetes(settings)
    if settings.runner == "swarm":
        return await examine_swarm(settings)
    # Without an engine the daemon does not start, unless somebody agreed to processes: then the line shows what is lacking.
    is_agreed = settings.runner == "auto" and Home(settings.home).processes_agreed.exists()
    missing = Health.WARN if is_agreed else Health.BAD
    engine, found = DockerEngine(address=settings.docker.host or None), []
    try:
        found.append(_engine(await engine.info(), settings.docker.runtime))
        found.append(_image(settings.docker.image, await engine.image(settings.docker.image)))
        found += await _shared(engine, settings)
    except RunnerRefused as error:
        found.append(Finding(what="image", health=Health.BAD, said=f"{error}; run `make images`"))
    except ExternalServiceError as error:
        found.append(Finding(what="engine", health=missing, said=f"{error}{_instead(settings, is_agreed)}"))
    finally:
        engine.close()
    return found


def _instead(settings: Settings, is_agreed: bool) -> str:
    """What happens without an engine, as the rest of a sentence."""
    if settings.runner != "auto":
        return ""
    if is_agreed:
        return "; sessions run as programs of this user until then, as somebody agreed to"
    return "; `overlord serve` does not start without one, unless you agree to sessions without walls (`runner: process`)"


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
    text = f"Docker {info['ServerVersion']}, cgroup {info.get('CgroupVersion', '?')}"
    if lacks:
        return Finding(what="engine", health=Health.BAD, said=f"{text}; it lacks {', '.join(lacks)}")
    if not info.get("LiveRestoreEnabled"):
        text += "; a restart of the engine ends running sessions (live-restore is off)"
    return Finding(what="engine", health=Health.WELL, said=text)


def _image(name: str, shown: Mapping[str, Any]) -> Finding:
    if ((shown.get("Config") or {}).get("Labels") or {}).get("overlord.minion") != minion_stamp():
        return bad("image", f"{name} was built from another version of the Minion; run `make images`")
    text = f"{name}, {shown['Size'] / 1e6:.0f} MB, built {shown['Created'][:10]}"
    return Finding(what="image", health=Health.WELL, said=text)


async def _shared(engine: DockerEngine, settings: Settings) -> Sequence[Finding]:
    """Sessions find their session API by its path on the engine's machine, so that must be the home's path here."""
    try:
        if not os.access(settings.home, os.W_OK) or await sees(engine, settings.docker.image, settings.home):
            return []
    except OSError:
        return []  # nothing can be written there now, which is a finding about the home
    text = (
        f"the engine finds other files at {settings.home} than Overlord does, and sessions could not reach their doors;"
        " mount the home at the same path inside and outside, as deploy/compose.yaml does, and use an engine of this machine"
    )
    return [bad("home for the engine", text)]
