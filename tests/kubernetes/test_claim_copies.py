"""Ready copies on a claim of the cluster: a small Job fetches each from the real session listener, once, and sessions only read it."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName
from overlord.domain.launch import Launch
from tests.kubernetes_kit import CLAIM, NAMESPACE, KubernetesKit
from tests.records import REPO
from tests.runners import EXITS, Make, ending_of, launch
from tests.session_api.ground import DEADLINE_S, Ground, made_ground


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root), way="tls") as made:
            yield made


async def launched(kit: KubernetesKit, ground: Ground, name: str = "s1") -> Launch:
    ready = await GitMirrors(ground.home).ready_copy(RepositoryName(REPO), ground.base)
    assert ready is not None
    access = ground.access.copy(REPO, ready.name)
    return replace(launch(kit, name), space=REPO, ready=ready, copy_access=access)


def files(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


async def jobs(kit: KubernetesKit) -> list[Any]:
    listed = await kit.admin("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs?labelSelector=overlord.copy")
    return list(listed["items"])


async def test_a_copy_comes_onto_the_claim_once_and_sessions_read_it(
    kit: KubernetesKit, make: Make, ground: Ground
) -> None:
    kit.options["copies_claim"] = CLAIM
    asked = await launched(kit, ground)
    runner = make(EXITS)
    await runner.start(asked)
    copies = kit.root / "cluster" / "claims" / NAMESPACE / CLAIM / "copies"
    async with asyncio.timeout(DEADLINE_S):
        while not (found := [*copies.glob(f"*/*/{ground.base}")]):
            await asyncio.sleep(0)
    assert asked.ready is not None
    assert files(found[0]) == files(asked.ready)
    await runner.start(await launched(kit, ground, "s2"))
    assert len(await jobs(kit)) == 1
    spec = kit.cluster.pod_of("s1")["spec"]
    [mount] = [m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "copies"]
    assert (mount["mountPath"], mount["readOnly"]) == ("/copies", True)
    assert (await ending_of(runner, asked.session)).exit_code is not None


async def test_the_token_of_a_copy_is_in_a_secret_and_in_no_job(
    kit: KubernetesKit, make: Make, ground: Ground
) -> None:
    kit.options["copies_claim"] = CLAIM
    asked = await launched(kit, ground)
    await make(EXITS).start(asked)
    [job] = await jobs(kit)
    assert asked.copy_access is not None
    assert asked.copy_access.token not in str(job)


async def test_without_a_claim_for_them_sessions_clone(
    kit: KubernetesKit, make: Make, ground: Ground
) -> None:
    await make(EXITS).start(await launched(kit, ground))
    assert await jobs(kit) == []
