"""What is asked for to hold a session, and that a wall which does not hold is found out from inside."""

from dataclasses import replace
from typing import Any

import pytest

from overlord.adapters.kubernetes.cluster import read_access
from overlord.adapters.kubernetes.pod import Host, PodProfile, differences
from overlord.adapters.kubernetes.profile_check import check_pod
from overlord.adapters.kubernetes.runner import KubernetesRunner
from overlord.adapters.kubernetes.sandbox_check import PROMISED
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import SessionAccess
from overlord.domain.session import EndKind
from overlord.entrypoints.cli.commands.doctor import WALLS
from overlord.errors import RunnerRefused
from tests.conformance.test_runner_layers import new_key, setup
from tests.kubernetes_kit import NAMESPACE, KubernetesKit
from tests.runners import EXITS, MAKES, OBEYS, Make, ending_of, launch

S1 = SessionId("s1")


async def pod_of(kit: KubernetesKit, runner: KubernetesRunner) -> dict[str, Any]:
    await runner.start(launch(kit, memory_mb=2048))
    await ending_of(runner, S1)
    return dict(kit.cluster.pod_of(S1)["spec"])


async def test_a_session_has_no_rights_and_takes_what_it_was_given(kit: KubernetesKit, make: Make) -> None:
    pod = await pod_of(kit, make(EXITS))  # type: ignore[arg-type]
    [container] = pod["containers"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }
    limits = {"cpu": "1", "memory": "2Gi", "ephemeral-storage": "1Gi"}
    assert container["resources"] == {"requests": limits, "limits": limits}
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert (pod["restartPolicy"], pod["dnsPolicy"], pod["shareProcessNamespace"]) == ("Never", "None", True)
    assert {volume["name"]: volume["emptyDir"] for volume in pod["volumes"]} == {
        "tmp": {"medium": "Memory", "sizeLimit": "64Mi"},
        "work": {"medium": "Memory", "sizeLimit": "1Gi"},
    }
    assert not {"hostUsers", "runtimeClassName", "nodeSelector", "hostNetwork", "hostPID"} & set(pod)


async def test_what_a_session_is_told_is_in_no_job_and_no_pod(kit: KubernetesKit, make: Make) -> None:
    runner = make(EXITS)
    await runner.start(launch(kit, environment={"MINION_SCOPE": "canary-19c3"}))
    await ending_of(runner, S1)
    shown = str(kit.cluster.store.list("jobs") + kit.cluster.store.list("pods"))
    assert "canary-19c3" not in shown
    assert kit.access.token not in shown
    await runner.remove(S1)
    assert kit.cluster.store.list("secrets") == []


async def test_the_settings_reach_the_pod(kit: KubernetesKit) -> None:
    kit.options["profile"] = PodProfile(
        runtime_class="gvisor",
        user_namespace=True,
        node_selector={"kubernetes.io/hostname": "node-2"},
        pull_secret="registry",
        node_lost_s=7,
    )
    runner = kit.runner(EXITS)
    pod = await pod_of(kit, runner)
    assert (pod["runtimeClassName"], pod["hostUsers"], pod["nodeName"]) == ("gvisor", False, "node-2")
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert {toleration["tolerationSeconds"] for toleration in pod["tolerations"]} == {7}
    await runner.close()


def test_a_session_reaches_the_listener_and_a_setup_packages_besides() -> None:
    profile = PodProfile(daemon_namespace="overlord", setup_reaches=("10.20.0.0/16",))
    host = Host(name="overlord.example.org", address="192.0.2.7", port=7443)
    session, setups, small = (policy["spec"] for policy in profile.policies("i", host))
    assert [spec["ingress"] for spec in (session, setups, small)] == [[], [], []]
    assert small["egress"] == []
    [listener] = session["egress"]
    assert listener["ports"] == [{"protocol": "TCP", "port": 7443}]
    assert listener["to"][0] == {"ipBlock": {"cidr": "192.0.2.7/32"}}
    assert listener["to"][1]["podSelector"] == {"matchLabels": {"app.kubernetes.io/name": "overlord"}}
    _, names, world = setups["egress"]
    assert {port["port"] for port in names["ports"]} == {53}
    assert "169.254.0.0/16" in world["to"][0]["ipBlock"]["except"]
    assert world["to"][1] == {"ipBlock": {"cidr": "10.20.0.0/16"}}


@pytest.mark.parametrize("how", ["removed", "opened"])
async def test_a_policy_that_somebody_takes_away_is_there_before_the_next_session(
    kit: KubernetesKit, make: Make, how: str
) -> None:
    from overlord.embedded.kubernetes.kind import BY_PLURAL

    runner, kind = make(EXITS), BY_PLURAL["networkpolicies"]
    await runner.start(launch(kit))
    before = {item["metadata"]["name"]: item["spec"] for item in kit.cluster.store.list(kind.plural)}
    for item in kit.cluster.store.list(kind.plural):
        if how == "removed":
            kit.cluster.store.remove(kind, NAMESPACE, item["metadata"]["name"])
        else:
            kit.cluster.store.put(
                kind, {**item, "spec": {**item["spec"], "egress": [{}], "policyTypes": ["Ingress"]}}
            )
    await runner.start(launch(kit, "s2"))
    assert {item["metadata"]["name"]: item["spec"] for item in kit.cluster.store.list(kind.plural)} == before


async def test_a_listener_with_a_name_is_looked_up_here_and_told_to_the_pod(
    kit: KubernetesKit, make: Make
) -> None:
    runner = make(EXITS)
    access = SessionAccess(url="https://localhost:7443", token="t", authority="a")
    await runner.start(replace(launch(kit), access=access))
    await ending_of(runner, S1)
    [alias] = kit.cluster.pod_of(S1)["spec"]["hostAliases"]
    assert alias["hostnames"] == ["localhost"]
    for url, words in (("https://no-such-host.invalid:1", "has no address"), ("https://", "names no host")):
        with pytest.raises(Exception, match=words):
            await runner.start(replace(launch(kit, "s2"), access=replace(access, url=url)))


def test_differences_are_what_a_cluster_left_out_or_changed_and_no_defaults_or_spellings() -> None:
    asked = {"a": {"cpu": "1000m", "memory": "2048Mi"}, "b": [{"c": False}], "d": "x"}
    assert differences(asked, {"a": {"cpu": "1", "memory": "2Gi"}, "b": [{}], "d": "x", "more": 1}) == []
    assert differences(asked, {"a": {"cpu": "1"}, "b": [{}, {}], "d": "y"}) == [
        "a.memory: asked '2048Mi', got None",
        "b: asked for 1, got 2",
        "d: asked 'x', got 'y'",
    ]


@pytest.mark.parametrize(
    ("image", "packages", "claim", "words"),
    [
        ("", ("postgresql-client",), "environments", "no packages are installed on Kubernetes"),
        ("python:3.12", (), "environments", "no images are made on Kubernetes"),
        ("", (), "", r"kubernetes\.environments_claim"),
    ],
)
async def test_an_environment_that_cannot_be_made_here_is_refused_with_how_to_have_it(
    kit: KubernetesKit, image: str, packages: tuple[str, ...], claim: str, words: str
) -> None:
    kit.options["claim"] = claim
    runner = kit.runner(MAKES)
    with pytest.raises(RunnerRefused, match=words):
        await runner.prepare_layer(new_key(), image=image, packages=packages)
    await runner.close()


async def test_a_setup_has_a_disk_and_more_memory_and_still_no_rights(kit: KubernetesKit) -> None:
    runner, key = kit.runner("sys.exit(0)"), new_key()
    await runner.prepare_layer(key, image="", packages=())
    await runner.start(setup(kit, key))
    await ending_of(runner, SessionId("setup"))
    pod = kit.cluster.pod_of("setup")["spec"]
    assert pod["containers"][0]["image"] == "overlord-minion-setup"
    assert pod["containers"][0]["resources"]["limits"]["memory"] == "4Gi"
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["dnsPolicy"] == "ClusterFirst"
    assert {"emptyDir": {"sizeLimit": "10Gi"}, "name": "work"} in pod["volumes"]
    await runner.close()


@pytest.mark.parametrize("enforces", [True, False])
async def test_a_cluster_that_keeps_no_network_policy_is_found_out_from_inside(
    kit: KubernetesKit, enforces: bool
) -> None:
    if enforces:
        kit.cluster.enforce_policies()

    def make(root: Any, command: Any) -> KubernetesRunner:
        return KubernetesRunner(
            root,
            read_access(kit.kubeconfig),
            namespace=NAMESPACE,
            image="overlord-minion",
            instance="doctor",
            command=command,
            pause_s=0.01,
        )

    [network, account] = await check_pod(make, points=("cluster_network", "service_account"), targets=())
    assert (network.holds, account.holds) == (enforces, True)
    assert enforces or "keeps no NetworkPolicy" in network.detail
    assert kit.cluster.store.list("networkpolicies", NAMESPACE) == []
    assert kit.cluster.store.list("jobs", NAMESPACE) == []


def test_every_wall_of_a_pod_has_words() -> None:
    assert set(PROMISED) <= set(WALLS)


async def test_a_second_pod_of_a_session_is_nothing_to_be_trusted(kit: KubernetesKit, make: Make) -> None:
    runner = make(OBEYS)
    await runner.start(launch(kit))
    assert await (await kit.session_api.line()).hear() == "up"
    pod = kit.cluster.pod_of(S1)
    metadata = {key: pod["metadata"][key] for key in ("labels", "ownerReferences")}
    kit.cluster.add(
        "pods",
        NAMESPACE,
        {
            "metadata": {**metadata, "name": "second"},
            "spec": {**pod["spec"], "nodeName": ""},
            "status": {"phase": "Pending"},
        },
    )
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert running.ending.kind is EndKind.KILLED
