"""A view as JSON: each part an object with its `type`, so that a program elsewhere can show it as it shows its own."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from overlord.domain.view.span import Span
from overlord.domain.view.view import Part, View

_KINDS = {kind.__name__: kind for kind in (*get_args(Part), *get_args(Span)) if kind is not str}
VIEW_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "View",
    "properties": {
        "summary": {"type": "string", "description": "All of it in a line."},
        "has_title": {"type": "boolean", "description": "Whether the summary stands above the parts."},
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": sorted(k.__name__ for k in get_args(Part))}
                },
                "required": ["type"],
            },
        },
    },
    "required": ["summary", "parts"],
}


class NoView(ValueError):
    """What was read is no view."""


def view_json(view: View) -> dict[str, Any]:
    """A view as values that JSON has."""
    return {
        "summary": view.summary,
        "has_title": view.has_title,
        "parts": [_json(part) for part in view.parts],
    }


def view_of(data: Any) -> View:
    """A view that was sent. A part of a kind that is not known here is left out. Raises NoView."""
    if not isinstance(data, Mapping) or not isinstance(data.get("parts"), list):
        raise NoView("that is no view")
    known = [part for part in data["parts"] if not isinstance(part, Mapping) or part.get("type") in _KINDS]
    return View(
        summary=str(data.get("summary", "")),
        has_title=data.get("has_title") is True,
        parts=tuple(_record(part, Part) for part in known),
    )


def _json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        named = {"type": type(value).__name__} if type(value).__name__ in _KINDS else {}
        return {**named, **{item.name: _json(getattr(value, item.name)) for item in fields(value)}}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return value


def _record(data: Any, expected: Any) -> Any:
    """A value of a type that a view may hold. Raises NoView."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is tuple:
        if not isinstance(data, list):
            raise NoView("a list is missing in that view")
        if arguments[-1] is Ellipsis:
            return tuple(_record(item, arguments[0]) for item in data)
        if len(data) != len(arguments):
            raise NoView("a list of that view is too short or too long")
        return tuple(_record(item, kind) for item, kind in zip(data, arguments, strict=True))
    if arguments:
        return _one_of(data, arguments)
    if is_dataclass(expected) and isinstance(expected, type):
        return _made(data, expected)
    return _plain(data, expected)


def _one_of(data: Any, kinds: Sequence[Any]) -> Any:
    """One of several: a record by its `type`, anything else by what it is."""
    if isinstance(data, Mapping):
        kind = _KINDS.get(str(data.get("type")))
        if kind is None or kind not in kinds:
            raise NoView("a part of that view is of no kind that can stand there")
        return _made(data, kind)
    for kind in kinds:
        if kind in (str, int, float, type(None)):
            try:
                return _plain(data, kind)
            except NoView:
                continue
    raise NoView("a value of that view is of no kind that can stand there")


def _made(data: Any, kind: Any) -> Any:
    if not isinstance(data, Mapping):
        raise NoView("a part of that view is no object")
    hints = _hints(kind)
    try:
        return kind(**{name: _record(data[name], hints[name]) for name in hints if name in data})
    except TypeError:
        raise NoView(f"a part of that view is no whole {kind.__name__}") from None


def _plain(data: Any, expected: Any) -> Any:
    base = getattr(expected, "__supertype__", expected)  # NewType
    if isinstance(base, type) and issubclass(base, StrEnum):
        try:
            return base(data)
        except ValueError:
            raise NoView("a word of that view is none that can stand there") from None
    if base is float and type(data) is int:
        return float(data)
    if base is type(None):
        if data is not None:
            raise NoView("a value of that view is of another type")
        return None
    if type(data) is not base:
        raise NoView("a value of that view is of another type")
    return data


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
