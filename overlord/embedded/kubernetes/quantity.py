"""Amounts of a resource: `500m` of a CPU, `2Gi` of memory, written the way a server writes them."""

import re
from decimal import Decimal
from typing import Any

from overlord.embedded.kubernetes.refusal import Refusal

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti|)")
_UNITS = {"m": Decimal("0.001"), "": Decimal(1)}
_UNITS |= {name: Decimal(1000**power) for power, name in enumerate("kMGT", start=1)}
_UNITS |= {f"{name}i": Decimal(1024**power) for power, name in enumerate("KMGT", start=1)}


def amount(text: object) -> Decimal:
    """Raises Refusal for what is no amount."""
    match = _AMOUNT.fullmatch(str(text))
    if match is None:
        raise Refusal(400, f"quantities must match the regular expression; got {text!r}", reason="BadRequest")
    return Decimal(match[1]) * _UNITS[match[2]]


def canonical(text: object) -> str:
    """The shortest form in the kind of unit that was used."""
    match = _AMOUNT.fullmatch(str(text))
    value = amount(text)
    if match is not None and match[2].endswith("i"):
        for name in ("Ti", "Gi", "Mi", "Ki"):
            if value % _UNITS[name] == 0:
                return f"{int(value / _UNITS[name])}{name}"
    return str(int(value)) if value == int(value) else f"{int(value * 1000)}m"


def canonical_resources(pod: dict[str, Any]) -> None:
    """Rewrite the amounts of a Pod's containers and volumes."""
    for container in pod.get("containers") or ():
        for limits in (container.get("resources") or {}).values():
            if isinstance(limits, dict):
                limits |= {name: canonical(text) for name, text in limits.items()}
    for volume in pod.get("volumes") or ():
        scratch = volume.get("emptyDir")
        if scratch and "sizeLimit" in scratch:
            scratch["sizeLimit"] = canonical(scratch["sizeLimit"])
