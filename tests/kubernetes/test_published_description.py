"""What the runner writes and the embedded cluster answers, against Kubernetes' published OpenAPI as lightkube's models have it."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from lightkube.models import apps_v1, authorization_v1, batch_v1, core_v1, networking_v1, rbac_v1

from overlord.domain.identifiers import SessionId
from tests.conformance.test_runner_layers import begin, new_key
from tests.kubernetes.manifests import manifests
from tests.kubernetes_kit import NAMESPACE, KubernetesKit
from tests.runners import MAKES, OBEYS, ending_of, launch

S1 = SessionId("s1")
MODULES = (core_v1, batch_v1, networking_v1, rbac_v1, apps_v1, authorization_v1)
BOOKKEEPING = {"apiVersion", "kind"}


def model_of(kind: str) -> type[msgspec.Struct]:
    for module in MODULES:
        if found := getattr(module, kind, None):
            return found  # type: ignore[no-any-return]
    raise LookupError(kind)


def misfits(item: dict[str, Any]) -> list[str]:
    """Fields that the description does not have, and values of another type."""
    model = model_of(item["kind"])
    try:
        msgspec.convert(item, model)
    except msgspec.ValidationError as error:
        return [str(error)]
    return list(_unknown(item, model, item["kind"]))


def _unknown(value: Any, hint: Any, place: str) -> Iterator[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        [hint] = [one for one in inner if one is not type(None)][:1]
        yield from _unknown(value, hint, place)
    elif isinstance(value, list) and inner:
        for index, one in enumerate(value):
            yield from _unknown(one, inner[0], f"{place}[{index}]")
    elif isinstance(value, dict) and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        known = {field.encode_name: field.name for field in msgspec.structs.fields(hint)}
        hints = get_type_hints(hint)
        for name, one in value.items():
            meant = known.get(name) or known.get(f"{name}_")
            if meant is None and name not in BOOKKEEPING:
                yield f"{place}.{name}"
            elif meant is not None:
                yield from _unknown(one, hints[meant], f"{place}.{name}")


def test_a_field_that_does_not_exist_and_a_value_of_another_type_are_found() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "imagge": "x"}]}}
    assert misfits(pod) == ["Pod.spec.containers[0].imagge"]
    pod["spec"] = {"containers": [{"name": "a", "tty": "yes"}]}
    assert misfits(pod) != []


async def test_all_that_is_written_and_answered_is_as_published(kit: KubernetesKit) -> None:
    kit.cluster.rights.used.clear()
    answers: list[dict[str, Any]] = []
    runner, key = kit.runner(MAKES), new_key()
    setup, _ = await begin(runner, kit, key)
    answers += _everything(kit)
    setup.say("finish")
    await ending_of(runner, SessionId("setup"))
    await runner.keep_layer(SessionId("setup"), key)
    await runner.close()
    other = kit.runner(OBEYS)
    await other.start(launch(kit))
    await (await kit.session_api.line()).hear()
    await other.stop(S1, grace_s=1)
    answers += _everything(kit)
    await other.close()
    written = kit.cluster.api.written
    assert {item["kind"] for item in written} == {"Job", "Secret", "ConfigMap", "NetworkPolicy"}
    assert [text for item in (*written, *answers) for text in misfits(item)] == []


def _everything(kit: KubernetesKit) -> list[dict[str, Any]]:
    plurals = ("jobs", "pods", "secrets", "configmaps", "networkpolicies", "events", "persistentvolumeclaims")
    found = [item for plural in plurals for item in kit.cluster.store.list(plural, NAMESPACE)]
    return [*found, *kit.cluster.store.list("nodes"), *kit.cluster.store.list("namespaces")]


@pytest.mark.parametrize("item", manifests(), ids=lambda item: f"{item['kind']}-{item['metadata']['name']}")
def test_the_manifests_are_as_published(item: dict[str, Any]) -> None:
    assert misfits(item) == []
