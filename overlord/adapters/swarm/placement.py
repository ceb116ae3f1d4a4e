"""Which nodes of a swarm take sessions: what a manager does with constraints, told beforehand."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

Node = Mapping[str, Any]
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def is_ready(node: Node) -> bool:
    """Whether it answers and takes services."""
    return bool(node["Status"]["State"] == "ready" and node["Spec"].get("Availability") == "active")


def meets(node: Node, constraints: Sequence[str]) -> bool:
    """Whether a node is as every constraint wants it. One that a manager does not know no node meets."""
    return all(_meets(node, text) for text in constraints)


def _meets(node: Node, constraint: str) -> bool:
    is_equal = "==" in constraint
    name, _, wanted = (part.strip() for part in constraint.partition("==" if is_equal else "!="))
    if name == "node.ip":
        return _is_in(str(node["Status"].get("Addr", "")), wanted) is is_equal
    value = _value(node, name)
    return value is not None and (value.casefold() == wanted.casefold()) is is_equal


def _value(node: Node, name: str) -> str | None:
    """What a node has under the name of a constraint; a label it has not is empty. None for a name that is none."""
    description, spec = node.get("Description") or {}, node["Spec"]
    platform = description.get("Platform") or {}
    architecture = str(platform.get("Architecture", ""))
    values = {
        "node.id": node["ID"],
        "node.hostname": description.get("Hostname", ""),
        "node.role": spec.get("Role", ""),
        "node.platform.os": platform.get("OS", ""),
        "node.platform.arch": _ARCHITECTURES.get(architecture, architecture),
    }
    for prefix, labels in (
        ("node.labels.", spec.get("Labels")),
        ("engine.labels.", (description.get("Engine") or {}).get("Labels")),
    ):
        if name.startswith(prefix):
            return str((labels or {}).get(name.removeprefix(prefix), ""))
    return str(values[name]) if name in values else None


def _is_in(address: str, network: str) -> bool | None:
    try:
        return ip_address(address) in ip_network(network)
    except ValueError:
        return None
