"""What `overlord doctor` finds of the swarm that sessions run on."""

import uuid
from collections.abc import Sequence

from overlord.adapters.docker.profile_check import Wall
from overlord.adapters.runner_choice import minion_stamp, swarm_address, swarm_runner
from overlord.adapters.swarm import check, profile_check
from overlord.entrypoints.doctor.finding import Finding, found_by
from overlord.errors import RunnerRefused
from overlord.settings.load import Settings


async def examine_swarm(settings: Settings) -> Sequence[Finding]:
    """The manager, the nodes, where sessions may go, what holds them, the image and where nodes have it from."""
    return [
        found_by(look)
        for look in await check.examine_swarm(_wanted(settings), call_s=settings.docker.timeout_s)
    ]


async def examine_services(settings: Settings) -> Sequence[Wall]:
    """Try the walls from inside a service on each node that sessions may run on. Raises RunnerUnavailable, RunnerRefused."""
    listener = settings.session_listener
    if not listener.is_on or listener.address.endswith(":0"):
        raise RunnerRefused(
            "sessions on a swarm are tried with their relay: set session_listener.address, with a port"
        )
    instance = f"doctor-{uuid.uuid4().hex[:8]}"
    nodes, api = await check.usable_nodes(_wanted(settings), call_s=settings.docker.timeout_s)
    # Each node has an instance of its own: none takes away another's network.
    return await profile_check.check_nodes(
        lambda root, command, constraint: swarm_runner(
            settings,
            instance=f"{instance}-{constraint.rpartition('==')[2][:6]}",
            command=command,
            root=root,
            constraint=constraint,
        ),
        nodes,
        api=api,
        url=listener.url(0),
    )


def _wanted(settings: Settings) -> check.Wanted:
    return check.Wanted(
        address=swarm_address(settings),
        image=settings.docker.image,
        stamp=minion_stamp(),
        constraints=settings.swarm.constraints,
        registry=settings.swarm.registry,
        engines=settings.swarm.engines,
    )
