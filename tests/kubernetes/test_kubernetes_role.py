"""The Role of deploy/kubernetes against what the runner and doctor ask a cluster for: all of it, and nothing besides."""

from overlord.adapters.kubernetes.check import examine_cluster
from overlord.adapters.kubernetes.cluster import read_access
from overlord.domain.identifiers import SessionId
from overlord.embedded.kubernetes.kind import BY_PLURAL
from tests.conformance.test_runner_layers import LOOKS, begin, new_key
from tests.kubernetes.manifests import ACCOUNT, apply_account, one
from tests.kubernetes_kit import CLAIM, NAMESPACE, KubernetesKit
from tests.runners import MAKES, OBEYS, ending_of, launch

S1 = SessionId("s1")


async def everything(kit: KubernetesKit) -> None:
    """Every call of the runner, each way it goes on."""
    runner = kit.runner(OBEYS)
    # The answers are lost: each object is there when it is asked for again.
    for verb, resource in (("create", "jobs"), ("create", "secrets"), ("create", "networkpolicies")):
        kit.cluster.fail(500, verb=verb, resource=resource, is_after=True)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    for policy in kit.cluster.store.list("networkpolicies", NAMESPACE):
        kit.cluster.store.put(
            BY_PLURAL["networkpolicies"], {**policy, "spec": {**policy["spec"], "egress": [{}]}}
        )
    await runner.start(launch(kit, "s2"))
    await (await kit.session_api.line()).hear()
    await runner.sessions()
    line.say("0")
    await ending_of(runner, S1)
    await runner.logs(S1, limit_bytes=100)
    await runner.stop(SessionId("s2"), grace_s=1)
    for name in ("s1", "s2"):
        await runner.remove(SessionId(name))
    await runner.close()
    await _environments(kit)
    await _no_room(kit)
    other = kit.runner(OBEYS)
    await other.remove_policies()
    await other.close()


async def _environments(kit: KubernetesKit) -> None:
    makes, key = kit.runner(MAKES), new_key()
    setup, _ = await begin(makes, kit, key)
    setup.say("finish")
    await ending_of(makes, SessionId("setup"))
    await makes.keep_layer(SessionId("setup"), key)
    await makes.downloads()
    await makes.remove(SessionId("setup"))
    await makes.remove_layer(key)
    await makes.remove_downloads("acme/calc")
    await makes.close()


async def _no_room(kit: KubernetesKit) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    kit.cluster.add("resourcequotas", NAMESPACE, quota)
    kit.options = {"start_s": 0.05}
    runner = kit.runner(LOOKS)
    await runner.start(launch(kit, "s3"))
    while (found := await runner.find(SessionId("s3"))) is None or found.ending is None:
        await runner._watch.wait_for_change(0.05)
    assert "exceeded quota" in found.ending.detail
    await runner.remove(SessionId("s3"))
    await runner.close()


async def test_everything_that_is_asked_for_is_in_the_role_and_nothing_else_is(kit: KubernetesKit) -> None:
    kit.kubeconfig = kit.cluster.write_kubeconfig(kit.root / "account", apply_account(kit.cluster))
    await everything(kit)
    await examine_cluster(read_access(kit.kubeconfig), namespace=NAMESPACE, claim=CLAIM, runtime_class="")
    used = {(right.group, right.resource, right.verb) for right in kit.cluster.used(*ACCOUNT)}
    given = {
        (group, resource, verb)
        for rule in one("Role", "overlord")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert used == given
    assert {right.namespace for right in kit.cluster.used(*ACCOUNT)} == {NAMESPACE}


async def test_a_role_that_lacks_one_right_is_told_by_doctor_and_by_the_runner(kit: KubernetesKit) -> None:
    token = apply_account(kit.cluster)
    role = kit.cluster.store.get("roles", NAMESPACE, "overlord")
    assert role is not None
    role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["pods"]]
    kit.cluster.store.put(BY_PLURAL["roles"], role)
    file = kit.cluster.write_kubeconfig(kit.root / "account", token)
    found = await examine_cluster(read_access(file), namespace=NAMESPACE, claim=CLAIM, runtime_class="")
    [rights] = [look for look in found if look.what == "rights"]
    assert not rights.is_well
    assert "list pods" in rights.said
