"""Records as JSON and back, for peers that are trusted: plain dataclasses, tuples, enumerations and their optionals."""

import json
import types
import typing
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

Record = TypeVar("Record")


def encode(record: Any) -> bytes:
    """A record of this module as JSON. A lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
    return json.dumps(asdict(record), ensure_ascii=False).encode("utf-8", "replace")


def decode(kind: type[Record], data: bytes | str) -> Record:
    """Read a record from a peer that is trusted; raises ValueError or TypeError when it does not fit."""
    return typing.cast(Record, _build(kind, json.loads(data)))


def _build(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return tuple(_build(arguments[0], item) for item in value)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _build(arguments[0], value)
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} is an object, not {type(value).__name__}")
        hints = typing.get_type_hints(kind)
        known = {item.name for item in fields(kind)}
        return kind(**{name: _build(hints[name], item) for name, item in value.items() if name in known})
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    return value
