"""What ends a session's Pod from outside its program, and what is told of it."""

from pathlib import Path
from typing import Any

import pytest

from overlord.domain.identifiers import SessionId
from overlord.domain.session import EndKind
from overlord.embedded.kubernetes.kind import BY_PLURAL
from overlord.ports.runner import Runner
from tests.kubernetes_kit import NAMESPACE, KubernetesKit, kubernetes_kit
from tests.puppet import Line, open_door
from tests.runners import DEAF, OBEYS, POLITE, Make, clean, ending_of, launch

S1 = SessionId("s1")


async def begun(kit: KubernetesKit, runner: Runner) -> Line:
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    return line


async def test_a_node_that_is_lost_loses_its_sessions_and_they_can_begin_again(
    kit: KubernetesKit, make: Make
) -> None:
    runner = make(OBEYS)
    await begun(kit, runner)
    kit.cluster.lose_node(kit.cluster.pod_of(S1)["spec"]["nodeName"])
    ending = await ending_of(runner, S1)
    assert ending.kind is EndKind.LOST
    assert "DeletionByTaintManager" in ending.detail
    await runner.remove(S1)
    assert await runner.find(S1) is None
    assert kit.cluster.store.list("pods", NAMESPACE) == []
    line = await begun(kit, runner)
    line.say("0")
    assert (await ending_of(runner, S1)).exit_code == 0


async def test_a_session_on_a_lost_node_can_be_stopped(kit: KubernetesKit, make: Make) -> None:
    kit.options = {"kill_s": 0.2}
    runner = make(OBEYS)
    await begun(kit, runner)
    kit.cluster.nodes[kit.cluster.pod_of(S1)["spec"]["nodeName"]].is_lost = True
    await runner.stop(S1, grace_s=0)
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert running.ending.kind is EndKind.STOPPED


@pytest.mark.parametrize("how", ["drained", "short of memory"])
async def test_an_evicted_session_is_lost_whatever_its_program_said(
    kit: KubernetesKit, make: Make, how: str
) -> None:
    runner = make(POLITE)
    await begun(kit, runner)
    pod = kit.cluster.pod_of(S1)
    if how == "drained":
        await kit.admin(
            "POST",
            f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["metadata"]["name"]}},
        )
    else:
        kit.cluster.evict_for_pressure(S1)
    ending = await ending_of(runner, S1)
    assert ending.kind is EndKind.LOST
    assert "vict" in ending.detail or "low on resource" in ending.detail


async def test_memory_that_is_used_up_is_told(kit: KubernetesKit, make: Make) -> None:
    runner = make(OBEYS)
    await begun(kit, runner)
    kit.cluster.run_out_of_memory(S1)
    assert (await ending_of(runner, S1)).kind is EndKind.OUT_OF_MEMORY


async def test_a_pod_that_somebody_deletes_was_killed(kit: KubernetesKit, make: Make) -> None:
    runner = make(POLITE)
    await begun(kit, runner)
    name = kit.cluster.pod_of(S1)["metadata"]["name"]
    await kit.admin("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
    ending = await ending_of(runner, S1)
    assert (ending.kind, ending.detail) == (EndKind.KILLED, "somebody deleted its Pod")


async def test_a_job_that_somebody_deletes_is_an_ending_too(kit: KubernetesKit, make: Make) -> None:
    runner = make(DEAF)
    await begun(kit, runner)
    name = kit.cluster.store.list("jobs", NAMESPACE)[0]["metadata"]["name"]
    await kit.admin("DELETE", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{name}", {"gracePeriodSeconds": 1})
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert running.ending.kind in {EndKind.KILLED, EndKind.LOST}


async def test_a_job_that_somebody_suspends_was_killed(kit: KubernetesKit, make: Make) -> None:
    runner = make(POLITE)
    await begun(kit, runner)
    job = kit.cluster.store.list("jobs", NAMESPACE)[0]
    kit.cluster.store.put(BY_PLURAL["jobs"], {**job, "spec": {**job["spec"], "suspend": True}})
    assert (await ending_of(runner, S1)).kind is EndKind.KILLED


async def test_its_log_is_there_after_it_was_stopped(kit: KubernetesKit, make: Make) -> None:
    runner = make("print('before', flush=True)\n" + POLITE)
    await begun(kit, runner)
    await runner.stop(S1, grace_s=30)
    assert kit.cluster.store.list("pods", NAMESPACE) == []
    assert await runner.logs(S1, limit_bytes=100) == "before\n"


async def stuck(kit: KubernetesKit) -> str:
    """Start a session that never comes to run; what is told of it once that took too long."""
    kit.options = {"start_s": 0.2}
    runner = kit.runner(OBEYS)
    await runner.start(launch(kit))
    while True:
        await runner._watch.wait_for_change(0.1)
        running = await runner.find(S1)
        assert running is not None
        if running.ending is not None:
            break
    assert running.ending.kind is EndKind.LOST
    await runner.remove(S1)
    await runner.close()
    return running.ending.detail


async def test_an_image_that_cannot_be_pulled_is_told_after_a_while(tmp_path: Path) -> None:
    async with open_door() as session_api, kubernetes_kit(tmp_path, session_api, images=set()) as kit:
        assert "ImagePullBackOff" in await stuck(kit)


async def test_a_session_that_no_node_takes_is_told_after_a_while(kit: KubernetesKit) -> None:
    for name in kit.cluster.nodes:
        node: Any = kit.cluster.store.get("nodes", "", name)
        node["spec"]["unschedulable"] = True
        kit.cluster.store.put(BY_PLURAL["nodes"], node)
    assert "Unschedulable: 0/0 nodes are available" in await stuck(kit)


async def test_a_quota_on_pods_is_told_after_a_while(kit: KubernetesKit) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"limits.memory": "64Mi"}}}
    kit.cluster.add("resourcequotas", NAMESPACE, quota)
    assert "exceeded quota: few" in await stuck(kit)


async def test_sessions_are_all_found_with_their_endings_after_a_restart(
    kit: KubernetesKit, make: Make
) -> None:
    first = make(OBEYS)
    lines = {}
    for name in ("a", "b", "c"):
        await first.start(launch(kit, name))
        lines[name] = await kit.session_api.line()
        assert await lines[name].hear() == "up"
    lines["a"].say("7")
    await ending_of(first, SessionId("a"))
    await first.stop(SessionId("b"), grace_s=1)
    await first.close()
    found = {running.session: running.ending for running in await make().sessions()}
    assert {name: ending and ending.kind for name, ending in found.items()} == {
        "a": EndKind.EXITED,
        "b": EndKind.STOPPED,
        "c": None,
    }
    await clean(kit.runner())
