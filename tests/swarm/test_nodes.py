"""A node is lost, drained, cut off and comes back: its sessions are lost, and nothing of them stays anywhere."""

import pytest

from overlord.adapters.swarm.runner import SwarmRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.session import Ending, EndKind
from overlord.embedded.swarm_lab import LabNode
from tests.labs import SwarmKit
from tests.runners import OBEYS, POLITE, ending_of, launch

pytestmark = pytest.mark.docker
S1, S2 = SessionId("s1"), SessionId("s2")


async def began(kit: SwarmKit, node: LabNode, program: str = POLITE) -> SwarmRunner:
    """A session that runs on this node."""
    runner = kit.on(f"node.hostname=={node.name}").runner(program)
    await runner.start(launch(kit))
    assert await (await kit.session_api.line()).hear() == "up"
    return runner


async def lost(runner: SwarmRunner) -> Ending:
    ending = await ending_of(runner, S1)
    assert ending.kind is EndKind.LOST
    return ending


async def test_a_node_that_dies_loses_its_session_and_the_next_one_runs_elsewhere(kit: SwarmKit) -> None:
    node = kit.lab.nodes[1]
    runner = await began(kit, node)
    await node.stop()
    try:
        assert "node node-2 is lost" in (await lost(runner)).detail
        assert await runner.logs(S1, limit_bytes=100) == ""
        await runner.remove(S1)
        await runner.close()
        next_one = kit.on("node.hostname!=node-2").runner(OBEYS)
        await next_one.start(launch(kit, "s2"))
        line = await kit.session_api.line()
        assert await line.hear() == "up"
        line.say("4")
        assert (await ending_of(next_one, S2)).exit_code == 4
        await next_one.remove(S2)
        await next_one.close()
    finally:
        await node.start()
        await kit.lab.until(node, "ready")


async def test_a_node_that_was_cut_off_ends_what_it_still_runs_when_it_is_back(kit: SwarmKit) -> None:
    node = kit.lab.nodes[2]
    runner = await began(kit, node)
    await node.cut()
    try:
        await kit.lab.until(node, "down")
        await lost(runner)
        await runner.remove(S1)
        assert await runner.sessions() == []
    finally:
        await node.heal()
        await kit.lab.until(node, "ready")
    await runner.close()
    assert await kit.emptied(alone=True) == {}


async def test_a_drained_node_loses_its_session_whatever_that_says(kit: SwarmKit) -> None:
    node = kit.lab.nodes[1]
    runner = await began(kit, node)
    await kit.lab.drain(node)
    try:
        assert "drained" in (await lost(runner)).detail
    finally:
        await kit.lab.activate(node)
    await runner.remove(S1)
    await runner.close()


async def test_a_session_nobody_knows_any_more_is_found_and_ended(kit: SwarmKit) -> None:
    runner = await began(kit, kit.lab.nodes[2])
    await runner.close()
    for note in kit.root.glob("*.started"):
        note.unlink()
    next_one = kit.runner()
    assert [(each.session, each.ending) for each in await next_one.sessions()] == [(S1, None)]
    await next_one.remove(S1)
    assert await next_one.sessions() == []
    await next_one.close()


async def test_a_service_that_a_stranger_removed_is_lost_and_no_others_are_touched(kit: SwarmKit) -> None:
    runner, manager = await began(kit, kit.lab.nodes[1]), kit.lab.manager
    await manager.docker(
        "service", "create", "--detach", "--name", "stranger", "--replicas", "0", "overlord-minion"
    )
    try:
        await manager.docker("service", "rm", f"overlord-{kit.instance}-s-s1")
        found = await runner.find(S1)
        assert found is not None
        assert found.ending is not None
        assert found.ending.kind is EndKind.LOST
        await runner.remove(S1)
        assert "stranger" in await manager.docker("service", "ls", "--format", "{{.Name}}")
    finally:
        await manager.docker("service", "rm", "stranger")
    await runner.close()
