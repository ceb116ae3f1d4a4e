"""`overlord doctor` where sessions run in a cluster: what it says of one that is ready, and of each thing that is missing."""

from pathlib import Path
from typing import Any

import pytest

from overlord.embedded.kubernetes.kind import VERSION
from overlord.entrypoints.doctor.finding import Health
from overlord.entrypoints.doctor.kubernetes import examine_kubernetes, examine_pods
from overlord.settings.load import Settings, load
from tests.kubernetes_kit import CLAIM, NAMESPACE, KubernetesKit


def settings(kit: KubernetesKit, **own: Any) -> Settings:
    section = {"kubeconfig": str(kit.kubeconfig), "namespace": NAMESPACE, "environments_claim": CLAIM, **own}
    return load({"OVERLORD_HOME": str(kit.root / "home")}, runner="kubernetes", kubernetes=section)


async def found(kit: KubernetesKit, **own: Any) -> dict[str, tuple[Health, str]]:
    return {item.what: (item.health, item.said) for item in await examine_kubernetes(settings(kit, **own))}


async def test_a_cluster_that_is_ready_is_well(kit: KubernetesKit) -> None:
    looks = await found(kit)
    assert list(looks) == ["cluster", "namespace", "rights", "environments"]
    assert {health for health, _ in looks.values()} == {Health.WELL}
    assert VERSION["gitVersion"] in looks["cluster"][1]
    assert kit.cluster.store.list("configmaps") == [], "it leaves nothing behind"


@pytest.mark.parametrize(
    ("own", "what", "health", "words"),
    [
        ({"namespace": "nowhere"}, "namespace", Health.BAD, "kubectl create namespace nowhere"),
        ({"environments_claim": "none"}, "environments", Health.BAD, "no PersistentVolumeClaim none"),
        ({"environments_claim": ""}, "environments", Health.WARN, "nothing is set up before tests"),
        ({"runtime_class": "gvisor"}, "runtime class", Health.BAD, "no RuntimeClass gvisor"),
        ({"kubeconfig": "/no/such/file"}, "cluster", Health.BAD, "kubernetes.kubeconfig"),
        ({"kubeconfig": ""}, "cluster", Health.BAD, "set kubernetes.kubeconfig"),
        ({"context": "other"}, "cluster", Health.BAD, "other"),
    ],
)
async def test_what_is_missing_is_told(
    kit: KubernetesKit, own: dict[str, str], what: str, health: Health, words: str
) -> None:
    looks = await found(kit, **own)
    assert looks[what][0] is health
    assert words in looks[what][1]


async def test_a_runtime_class_that_is_there_is_well(kit: KubernetesKit) -> None:
    kit.cluster.add("runtimeclasses", "", {"metadata": {"name": "gvisor"}, "handler": "runsc"})
    assert (await found(kit, runtime_class="gvisor"))["runtime class"] == (Health.WELL, "gvisor")


async def test_the_walls_are_tried_in_a_pod_that_is_like_a_sessions(
    kit: KubernetesKit, tmp_path: Path
) -> None:
    """Here a Pod is a process of this machine: walls are missing, and each that is gets told."""
    walls = {wall.point: wall for wall in await examine_pods(settings(kit))}
    assert not walls["cluster_network"].holds
    assert walls["service_account"].holds
    assert walls["pod_environment"].holds
    assert not walls["user"].holds
    assert kit.cluster.store.list("pods") == []
