"""Label and field selectors, as requests have them in their query."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from overlord.embedded.kubernetes.refusal import Refusal

Object = dict[str, Any]
_SET = re.compile(r"([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)")
_EQUAL = re.compile(r"([\w./-]+)\s*(==|=|!=)\s*([\w./-]*)")
_THERE = re.compile(r"(!?)([\w./-]+)")


def selects(labels: str, fields: str) -> Callable[[Object], bool]:
    """Whether an object is meant. Raises Refusal for what is no selector."""
    by_label = [_label_test(part) for part in _parts(labels)]
    by_field = [_field_test(part) for part in _parts(fields)]

    def is_selected(item: Object) -> bool:
        own = item["metadata"].get("labels") or {}
        return all(test(own) for test in by_label) and all(test(item) for test in by_field)

    return is_selected


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a `matchLabels` selector means these labels."""
    return all(labels.get(name) == value for name, value in (selector.get("matchLabels") or {}).items())


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _label_test(part: str) -> Callable[[Mapping[str, str]], bool]:
    if match := _SET.fullmatch(part):
        name, operator, listed = match[1], match[2], {value.strip() for value in match[3].split(",")}
        return lambda labels: (labels.get(name) in listed) is (operator == "in")
    if match := _EQUAL.fullmatch(part):
        name, operator, value = match[1], match[2], match[3]
        return lambda labels: (labels.get(name) == value) is (operator != "!=")
    if match := _THERE.fullmatch(part):
        is_wanted, name = not match[1], match[2]
        return lambda labels: (name in labels) is is_wanted
    raise Refusal(400, f"unable to parse requirement: {part}")


def _field_test(part: str) -> Callable[[Object], bool]:
    match = _EQUAL.fullmatch(part)
    if match is None:
        raise Refusal(400, f"invalid field selector: {part}")
    path, operator, value = match[1].split("."), match[2], match[3]
    return lambda item: (_at(item, path) == value) is (operator != "!=")


def _at(item: Object, path: list[str]) -> str:
    found: Any = item
    for name in path:
        found = found.get(name, "") if isinstance(found, dict) else ""
    return str(found)
