"""`overlord doctor`: is this machine ready, and do the walls of its sandbox hold."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import as_json, console, table
from overlord.errors import StoreError
from overlord.settings.load import Settings, load, rebuilt

if TYPE_CHECKING:
    from overlord.adapters.docker.profile_check import Wall
    from overlord.entrypoints.doctor.finding import Finding

WALLS = {
    "user": "sessions run as an ordinary user",
    "capabilities": "they have no capabilities",
    "new_privileges": "they can gain no privileges",
    "network": "they have no network",
    "host_services": "services of this machine are out of reach",
    "names": "no name server can be asked",
    "sockets": "no sockets of other kinds: vsock, packet, crypto",
    "io_uring": "no io_uring",
    "namespaces_new": "no new user namespaces",
    "tracing": "no tracing of processes, no reading of their memory",
    "keyring": "no kernel keyrings",
    "kernel": "no mounts, modules, bpf, userfaultfd and the like",
    "other_bits": "no 32-bit and x32 system calls",
    "root_files": "the image's files cannot be written",
    "mounts": "only its own two directories can be written",
    "session_api": "the session API's files cannot be changed",
    "tmp_programs": "no program can be run from its temporary files",
    "disk": "disk space is bounded",
    "limits": "files and open files are bounded",
    "processes": "processes are bounded",
    "memory": "memory is bounded",
    "first_process": "a first process passes signals on",
    "namespaces": "processes, network and names are its own",
    "other_environments": "no other process's environment can be read",
    "own_environment": "its environment holds no secret",
    "devices": "no devices beyond the usual",
    "kernel_files": "the kernel's settings cannot be written",
    "engine": "the engine's socket is not there",
    "cluster_network": "the cluster's own API and its provider's metadata are out of reach",
    "service_account": "there is no account of the cluster's",
    "pod_mounts": "only its own two directories can be written",
    "pod_devices": "no devices beyond the usual",
    "pod_first_process": "a first process passes signals on",
    "pod_environment": "its environment holds no secret but the one for its own session API",
    "service_network": "its network has no way out; nodes and the provider's metadata are out of reach",
    "service_relay": "the relay to Overlord answers, whatever node it is on",
    "service_names": "no name server finds other names",
    "service_environment": "its environment holds no secret but the one for its own session API",
}
"""Each point of `sandbox_check.py` in words."""


def doctor(
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Try to break out of a session's container, point by point.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Make the labels of the settings that a repository does not have.")
    ] = False,
    runner: Annotated[
        Literal["auto", "docker", "process", "swarm", "kubernetes"] | None,
        typer.Option(help="What sessions run in, in place of what the settings say."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at everything Overlord needs: configuration, git, disk, engine, image, model; sign-in, permissions, labels."""
    from overlord.entrypoints.doctor.checkup import examine, examine_sandbox

    if sandbox:
        _show_walls(asyncio.run(examine_sandbox(_with(runner, load(environment())))), json=json)
    else:
        _show_findings(asyncio.run(examine(lambda: _with(runner, _settings()), fix=fix)), json=json)


def _show_findings(found: Sequence["Finding"], *, json: bool) -> None:
    if json:
        as_json(found)
    else:
        table(("what", "", "found"), [(item.what, item.health, item.said) for item in found])
    raise typer.Exit(1 if any(item.health == "bad" for item in found) else 0)


def _show_walls(walls: Sequence["Wall"], *, json: bool) -> None:
    open_ones = [wall for wall in walls if not wall.holds]
    nodes = {wall.node for wall in walls} - {""}
    if json:
        as_json(walls)
    else:
        rows = [
            (
                *((wall.node,) if nodes else ()),
                *(WALLS.get(wall.point, wall.point), "holds" if wall.holds else "OPEN", wall.detail),
            )
            for wall in walls
        ]
        table((*(("node",) if nodes else ()), "wall", "", "what got through"), rows)
        console.print(f"{len(walls) - len(open_ones)} of {len(walls)} walls hold.")
    raise typer.Exit(1 if open_ones else 0)


def _with(runner: str | None, settings: Settings) -> Settings:
    return settings if runner is None else rebuilt(settings, runner=runner)


def _settings() -> Settings:
    """The settings, with what was added by command where that can be read."""
    try:
        return state.settings()
    except StoreError:
        return load(environment())
