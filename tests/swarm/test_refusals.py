"""What a swarm cannot do for a session is refused with what to do about it, and leaves nothing."""

from dataclasses import replace

import pytest

from overlord.adapters.swarm.calls import SwarmManager, swarm_of
from overlord.adapters.swarm.runner import SwarmRunner
from overlord.domain.launch import AgentProgram
from overlord.errors import RunnerRefused, RunnerUnavailable
from tests.labs import SwarmKit
from tests.runners import IMAGE, launch

pytestmark = pytest.mark.docker


def runner_at(kit: SwarmKit, address: str, **options: str) -> SwarmRunner:
    return SwarmRunner(kit.root, image=IMAGE, instance=kit.instance, address=address, **options)  # type: ignore[arg-type]


async def test_a_worker_says_where_its_manager_is(kit: SwarmKit) -> None:
    runner = runner_at(kit, kit.lab.nodes[1].address)
    with pytest.raises(RunnerRefused, match=rf"worker.*swarm\.address.*{kit.lab.manager.ip}"):
        await runner.start(launch(kit))
    await runner.close()


def test_an_engine_without_a_swarm_says_how_to_make_one() -> None:
    for state, said in (("inactive", "docker swarm init"), ("locked", "docker swarm unlock")):
        with pytest.raises(RunnerRefused, match=said):
            swarm_of({"Swarm": {"LocalNodeState": state}})


async def test_a_node_without_the_image_is_named(kit: SwarmKit) -> None:
    manager, image = kit.lab.manager, f"overlord-ground:{kit.instance}-only-here"
    container = await manager.docker("create", IMAGE)
    await manager.docker("commit", container, image)
    await manager.docker("rm", container)
    runner = SwarmRunner(
        kit.root,
        image=image,
        instance=kit.instance,
        address=manager.address,
        constraints=("node.hostname==node-2",),
        engines=(manager.address,),
    )
    with pytest.raises(RunnerRefused, match=r"No such image.*node node-2 does not have it"):
        await runner.start(launch(kit))
    await runner.close()


async def test_constraints_no_node_meets_are_refused_in_time(kit: SwarmKit) -> None:
    runner = replace(kit, start_s=2.0).runner()
    await runner.start(launch(kit, "s1"))
    other = replace(kit, start_s=2.0).on("node.labels.nowhere==yes").runner()
    with pytest.raises(RunnerRefused, match=r"no suitable node.*swarm\.constraints"):
        await other.start(launch(kit, "s2"))
    await runner.close()
    await other.close()


async def test_a_swarm_that_is_full_is_waited_for(kit: SwarmKit) -> None:
    runner = replace(kit, start_s=2.0, profile=replace(kit.profile, memory_mb=10_000_000)).runner()
    with pytest.raises(RunnerUnavailable, match="no node of the swarm has room"):
        await runner.start(launch(kit, memory_mb=9_000_000))
    assert await runner.sessions() == []
    await runner.close()


async def test_a_registry_that_does_not_take_an_image_is_named(kit: SwarmKit) -> None:
    runner = runner_at(kit, kit.lab.manager.address, registry="127.0.0.1:9/overlord")
    with pytest.raises(RunnerRefused, match=r"the registry 127\.0\.0\.1:9/overlord refused"):
        await runner.start(launch(kit))
    await runner.close()


async def test_a_session_without_a_listener_is_refused(kit: SwarmKit) -> None:
    runner = kit.runner()
    with pytest.raises(RunnerRefused, match=r"session_listener\.address"):
        await runner.start(replace(launch(kit), access=None))
    elsewhere = AgentProgram(program="standin", image=IMAGE)
    with pytest.raises(RunnerRefused, match="an image of its own"):
        await runner.start(replace(launch(kit), agent=elsewhere))
    await runner.close()


async def test_two_instances_on_one_swarm_do_not_see_each_other(kit: SwarmKit) -> None:
    runner, other = kit.runner(), replace(kit, instance=f"{kit.instance}x", root=kit.root / "other").runner()
    await runner.start(launch(kit))
    assert await other.sessions() == []
    await other.remove(launch(kit).session)
    assert [each.session for each in await runner.sessions()] == ["s1"]
    manager = SwarmManager(address=kit.lab.manager.address)
    assert len(await manager.services(f"overlord.instance={kit.instance}")) == 2  # the session and its relay
    manager.close()
    await runner.close()
    await other.close()
