"""The embedded cluster, driven with the real kubectl: what its tests say of a cluster holds for a client that is none of ours."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable

import pytest

from overlord.domain.identifiers import SessionId
from tests.kubernetes.manifests import FOLDER, manifests
from tests.kubernetes_kit import NAMESPACE, KubernetesKit
from tests.required import missing
from tests.runners import Make, ending_of, launch

S1 = SessionId("s1")
Kubectl = Callable[..., Awaitable[str]]


@pytest.fixture
def kubectl(kit: KubernetesKit) -> Kubectl:
    if shutil.which("kubectl") is None:
        missing("kubectl", "there is no kubectl (Debian: kubernetes-client)")

    async def run(*arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *("--kubeconfig", str(kit.kubeconfig), "--cache-dir", str(kit.root / "cache"), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return said.decode()

    return run


async def test_a_session_is_seen_described_read_and_deleted(
    kit: KubernetesKit, make: Make, kubectl: Kubectl
) -> None:
    runner = make("print('words', flush=True); say('up'); hear(); sys.exit(3)")
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    place = ("-n", NAMESPACE)
    assert "Running" in await kubectl(*place, "get", "pods")
    listed = json.loads(await kubectl(*place, "get", "pods", "-l", "overlord.session=s1", "-o", "json"))
    [pod] = listed["items"]
    name = pod["metadata"]["name"]
    assert "Drop" not in await kubectl(*place, "describe", "pod", name)
    described = await kubectl(*place, "describe", "job", pod["metadata"]["labels"]["job-name"])
    assert "Parallelism:" in described
    assert await kubectl(*place, "logs", name) == "words\n"
    review = kit.root / "review.json"
    attributes = {"namespace": NAMESPACE, "verb": "delete", "resource": "pods"}
    review.write_text(
        json.dumps(
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            }
        )
    )
    assert (
        json.loads(await kubectl("create", "--validate=false", "-f", str(review), "-o", "json"))["status"][
            "allowed"
        ]
        is True
    )
    assert "Server Version" in await kubectl("version")
    line.say("go")
    assert (await ending_of(runner, S1)).exit_code == 3
    await kubectl(*place, "wait", "--for=condition=failed", "job", "--all", "--timeout=60s")
    await kubectl(*place, "delete", "job", "--all")
    assert kit.cluster.store.list("pods", NAMESPACE) == []
    assert kit.cluster.store.list("secrets", NAMESPACE) == []


async def test_deploy_kubernetes_can_be_applied_twice_and_taken_away(
    kit: KubernetesKit, kubectl: Kubectl
) -> None:
    first = await kubectl("apply", "--validate=false", "-k", str(FOLDER))
    assert "role.rbac.authorization.k8s.io/overlord created" in first
    again = await kubectl("apply", "--validate=false", "-k", str(FOLDER))
    assert "created" not in again
    for item in manifests():
        namespace = item["metadata"].get("namespace", "")
        assert await kubectl(
            *(("-n", namespace) if namespace else ()), "get", item["kind"], item["metadata"]["name"]
        )
    await kubectl("delete", "--wait=false", "-k", str(FOLDER))
    assert kit.cluster.store.list("roles") == []
