"""GitHub's published description of the operations Overlord calls, as validators that are made once."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]

from tests.github_openapi.regenerate import OUTPUT

MULTI_SEGMENT = frozenset({"ref", "sha"})
"""What a path may hold with its slashes."""
MESSAGE_CHARS = 160

Json = dict[str, Any]
WIDER = {
    ("pull-request-review-comment", "line"): {"type": ["integer", "null"]},
    ("check-run", "conclusion"): {"type": ["string", "null"]},
    ("pull-request-simple", "labels", "description"): {"type": ["string", "null"]},
}
"""Where GitHub is known to send more than this part of its description allows, and another part of it says so: a comment
whose line is gone (`webhooks_review_comment`), a check that was never finished (`stale`, as in `check-suite`), a label of a listed
pull request without a description (`pull-request`)."""

formats = FormatChecker(formats=())


@formats.checks("date-time")  # type: ignore[untyped-decorator]
def is_moment(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        return datetime.fromisoformat(value).utcoffset() is not None
    except ValueError:
        return False


@formats.checks("uri")  # type: ignore[untyped-decorator]
def is_address(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme and urlsplit(value).netloc)


class Schema:
    """One schema, beside the shared ones it refers to."""

    def __init__(self, schema: Json, shared: Json) -> None:
        self.kind = schema.get("type")
        self._whole = {**schema, "$defs": shared}

    @cached_property
    def _quick(self) -> jsonschema_rs.Validator:
        known = {"date-time": is_moment, "uri": is_address}
        return jsonschema_rs.Draft202012Validator(self._whole, formats=known, validate_formats=True)

    @cached_property
    def _telling(self) -> Draft202012Validator:
        return Draft202012Validator(self._whole, format_checker=formats)

    def faults(self, value: Any) -> Iterator[str]:
        """What does not fit, each with where it is. Nearly everything fits, which is seen at once."""
        if self._quick.is_valid(value):
            return
        for error in self._telling.iter_errors(value):
            for leaf in _leaves(error):
                where = re.sub(r"\[\d+\]", "[*]", leaf.json_path)
                said = leaf.message
                said = said if len(said) <= MESSAGE_CHARS else f"{said[:40]} … {said[-MESSAGE_CHARS + 43 :]}"
                yield f"at {where}: {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Something a path or a query may hold."""

    name: str
    place: str
    required: bool
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An operation as GitHub describes it."""

    name: str
    method: str
    path: re.Pattern[str]
    parameters: Mapping[str, Parameter]
    request: Schema | None
    needs_request: bool
    responses: Mapping[int, Schema | None]
    """What is answered with each status; None is an empty body."""


@lru_cache(maxsize=1)
def described() -> tuple[Described, ...]:
    """Every operation that has a description."""
    kept = json.loads(OUTPUT.read_text(encoding="utf-8"))
    shared: Json = kept["$defs"]
    for (schema, *lists, field), allowed in WIDER.items():
        place = shared[schema]
        for listed in lists:
            place = place["properties"][listed]["items"]
        place["properties"][field] = allowed
    return tuple(_described(name, item, shared) for name, item in kept["operations"].items())


@lru_cache(maxsize=4096)
def find(method: str, path: str) -> Described | None:
    """The operation a request is for; `path` is as it was sent, with its escapes."""
    for item in described():
        if item.method == method and item.path.fullmatch(path):
            return item
    return None


def _described(name: str, item: Json, shared: Json) -> Described:
    parameters = {
        found["name"]: Parameter(
            name=found["name"],
            place=found["in"],
            required=found["required"],
            schema=Schema(found["schema"], shared),
        )
        for found in item["parameters"]
    }
    request = item.get("request")
    return Described(
        name=name,
        method=item["method"],
        path=re.compile(re.sub(r"\{(\w+)\}", lambda match: _segment(match[1], parameters), item["path"])),
        parameters=parameters,
        request=Schema(request["schema"], shared) if request else None,
        needs_request=bool(request and request["required"]),
        responses={
            int(status): Schema(schema, shared) if schema is not None else None
            for status, schema in item["responses"].items()
        },
    )


def _segment(name: str, parameters: Mapping[str, Parameter]) -> str:
    if parameters[name].schema.kind == "integer":
        return rf"(?P<{name}>\d+)"
    return f"(?P<{name}>{'.+' if name in MULTI_SEGMENT else '[^/]+'})"


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """What is wrong in the alternative that was meant, where there were several: the one of the right type and the fewest faults."""
    branches: dict[object, list[ValidationError]] = {}
    for item in error.context or ():
        branches.setdefault(item.schema_path[0], []).append(item)
    if not branches:
        yield error
        return
    for item in min(branches.values(), key=lambda found: (any(_is_other_type(e) for e in found), len(found))):
        yield from _leaves(item)


def _is_other_type(error: ValidationError) -> bool:
    return error.validator == "type" and len(error.relative_path) == 0
