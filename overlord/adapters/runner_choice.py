"""Which runner sessions get: the one the settings ask for, or a refusal that says how to have it.

`auto` means containers. Processes keep nothing of the user's from a session, so they are never taken in silence.
"""

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

import minion
from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.process.runner import ProcessRunner
from overlord.adapters.swarm.calls import SwarmManager, swarm_of
from overlord.adapters.swarm.runner import SwarmRunner
from overlord.errors import (
    ContainersMissing,
    ExternalServiceError,
    ImageUnusable,
    RunnerRefused,
    SettingsError,
)
from overlord.home import Home
from overlord.ports.runner import Runner
from overlord.settings.load import Settings

if TYPE_CHECKING:
    from overlord.adapters.kubernetes.runner import KubernetesRunner

log = structlog.get_logger()

PROCESSES = (
    "Sessions are not run as plain processes unless somebody says so: set `runner: process` (OVERLORD_RUNNER=process) where"
    " you trust issues and repositories as you trust your own shell"
)


async def choose_runner(settings: Settings, *, epoch: int = 0, falls_back: bool = False) -> Runner:
    """The runner of the settings: `auto` takes Docker when an engine answers. When none does, it takes processes only where a
    person agreed to that, or with `falls_back`: where what is worked on are the words of whoever typed the command.

    `epoch` counts the starts of this Overlord; what it starts carries the number. Raises SettingsError when the runner
    that is asked for cannot be had, ImageUnusable when an engine answers and has no image of this version, and
    ContainersMissing where processes would be all there is.
    """
    if settings.runner == "process":
        return _processes(settings)
    if settings.runner == "kubernetes":
        return kubernetes_runner(settings, epoch=epoch)
    if settings.runner == "swarm":
        return await _checked_swarm(settings, epoch)
    engine = DockerEngine(address=settings.docker.host or None)
    try:
        await engine.info()
        await _check_image(engine, settings.docker.image)
    except ExternalServiceError as error:
        if settings.runner == "docker":
            raise SettingsError(f"runner: docker, but {error}") from error
        if not falls_back and not Home(settings.home).processes_agreed.exists():
            raise ContainersMissing(f"runner: auto, but {error}. {PROCESSES}") from error
        log.info("no_containers", reason=str(error), runner="process")
        return _processes(settings)
    finally:
        engine.close()
    return _docker(settings, epoch)


def _processes(settings: Settings) -> ProcessRunner:
    python = settings.process.python or sys.executable
    return ProcessRunner(Home(settings.home).processes, command=(python, "-P", "-m", "minion"))


async def _check_image(engine: DockerEngine, image: str) -> None:
    """Raises ImageUnusable when the image is missing, or was built from another version of the Minion."""
    fix = "run `make images`, or set OVERLORD_RUNNER=process, which isolates nothing"
    try:
        found = await engine.image(image)
    except RunnerRefused:
        raise ImageUnusable(f"the engine has no image {image}: {fix}") from None
    labels = (found.get("Config") or {}).get("Labels") or {}
    if labels.get("overlord.minion") != minion_stamp():
        raise ImageUnusable(f"the image {image} was built from another version of the Minion: {fix}")


def minion_stamp() -> str:
    """What tells one version of the Minion from another; `docker/images` computes the same for its label."""
    root = Path(minion.__file__).parent
    sources = sorted(root.rglob("*.py"), key=lambda path: f"minion/{path.relative_to(root).as_posix()}")
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def kubernetes_runner(
    settings: Settings,
    *,
    epoch: int = 0,
    instance: str = "",
    command: Sequence[str] | None = None,
    root: Path | None = None,
) -> "KubernetesRunner":
    """The runner of a cluster. `instance`, `command` and `root`: in place of this Overlord's own. Raises SettingsError."""
    # Imported here: whoever has no cluster does not wait for its client.
    from overlord.adapters.kubernetes.cluster import read_access
    from overlord.adapters.kubernetes.pod import PodProfile
    from overlord.adapters.kubernetes.runner import KubernetesRunner

    own, home = settings.kubernetes, Home(settings.home)
    return KubernetesRunner(
        root or home.pods,
        read_access(Path(own.kubeconfig) if own.kubeconfig else None, own.context),
        namespace=own.namespace,
        image=own.image,
        instance=instance or home.instance(),
        epoch=epoch,
        profile=PodProfile(
            runtime_class=own.runtime_class,
            user_namespace=own.user_namespace,
            node_selector=own.node_selector,
            pull_secret=own.pull_secret,
            node_lost_s=own.node_lost_s,
            setup_reaches=own.setup_reaches,
            daemon_namespace=own.daemon_namespace,
        ),
        claim=own.environments_claim,
        copies_claim=own.copies_claim,
        setup_memory_mb=settings.environments.memory_mb,
        command=command,
        call_s=own.timeout_s,
        start_s=own.start_s,
    )


async def _checked_swarm(settings: Settings, epoch: int) -> SwarmRunner:
    manager = SwarmManager(address=swarm_address(settings))
    try:
        swarm_of(await manager.info())
        await _check_image(manager, settings.docker.image)
    except ExternalServiceError as error:
        raise SettingsError(f"runner: swarm, but {error}") from error
    finally:
        manager.close()
    return swarm_runner(settings, epoch=epoch)


def swarm_address(settings: Settings) -> str | None:
    """The manager's, as `DOCKER_HOST` would have it; None for the usual engine."""
    return settings.swarm.address or settings.docker.host or None


def swarm_runner(
    settings: Settings,
    *,
    epoch: int = 0,
    instance: str = "",
    command: Sequence[str] | None = None,
    root: Path | None = None,
    constraint: str = "",
) -> SwarmRunner:
    """The runner of a swarm. `instance`, `command` and `root`: in place of this Overlord's own. `constraint`: beside those of the
    settings; then no relay and network outlives its last session."""
    docker, home = settings.docker, Home(settings.home)
    return SwarmRunner(
        root or home.root / "swarm",
        image=docker.image,
        instance=instance or home.instance(),
        epoch=epoch,
        profile=_profile(settings),
        command=command,
        address=swarm_address(settings),
        call_s=docker.timeout_s,
        minion=minion_stamp(),
        constraints=(*settings.swarm.constraints, *filter(None, (constraint,))),
        registry=settings.swarm.registry,
        engines=settings.swarm.engines,
        start_s=settings.swarm.start_s,
        grace_s=settings.sessions.grace_s,
        idle_s=0.0 if constraint else settings.swarm.idle_s,
    )


def _profile(settings: Settings) -> Profile:
    return Profile(
        runtime=settings.docker.runtime or None,
        setup_network=settings.environments.network,
        setup_memory_mb=settings.environments.memory_mb,
    )


def _docker(settings: Settings, epoch: int) -> DockerRunner:
    docker, home = settings.docker, Home(settings.home)
    return DockerRunner(
        home.containers,
        image=docker.image,
        instance=home.instance(),
        epoch=epoch,
        profile=_profile(settings),
        address=docker.host or None,
        call_s=docker.timeout_s,
        minion=minion_stamp(),
    )
