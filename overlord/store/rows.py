"""Rows and records: how a dataclass is written to a table and read back, once for every aggregate."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

Record = TypeVar("Record")


def adapter(kind: object) -> TypeAdapter[Any]:
    """The cached translator between a type and JSON."""
    return _adapter(kind)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_column(value: object) -> str | int | float | None:
    """One field as SQLite stores it: times as ISO text, records and tuples as JSON."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    return adapter(type(value)).dump_json(value).decode()


def from_row(kind: type[Record], row: sqlite3.Row) -> Record:
    """A record from the columns that carry its fields' names."""
    [record] = _records(kind, tuple(row.keys()), [row])
    return record


def insert(connection: sqlite3.Connection, table: str, values: Mapping[str, object]) -> int:
    """Insert a row and return its rowid. Table and column names are ours, never input."""
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
    cursor = connection.execute(statement, [to_column(value) for value in values.values()])
    return int(cursor.lastrowid or 0)


def update(connection: sqlite3.Connection, table: str, key: object, changes: Mapping[str, object]) -> None:
    """Change columns of the row whose `id` is `key`."""
    if not changes:
        return
    names = ", ".join(f"{name} = ?" for name in changes)
    statement = f"UPDATE {table} SET {names} WHERE id = ?"  # noqa: S608
    connection.execute(statement, [*(to_column(value) for value in changes.values()), key])


def select(
    connection: sqlite3.Connection, kind: type[Record], query: str, *arguments: object
) -> list[Record]:
    """Every row of a query as records."""
    found = connection.execute(query, tuple(arguments))
    columns = tuple(column[0] for column in found.description)
    return _records(kind, columns, found)


def _records(kind: type[Record], columns: tuple[str, ...], rows: Iterable[sqlite3.Row]) -> list[Record]:
    described: Any = kind
    wanted, record = _read(described, columns), adapter(kind).validate_python
    return [record({name: _field(hint, row[place]) for name, place, hint in wanted}) for row in rows]


@cache
def _hints(kind: type) -> dict[str, Any]:
    if not is_dataclass(kind):
        raise TypeError(f"{kind} is not a record")
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in fields(kind)}


@cache
def _read(kind: type, columns: tuple[str, ...]) -> tuple[tuple[str, int, Any], ...]:
    """The fields that a query's columns hold: of each its name, its column and its type; found out once for all rows."""
    return tuple((name, columns.index(name), hint) for name, hint in _hints(kind).items() if name in columns)


_JSON_STARTS = ("{", "[")


def _field(hint: Any, value: Any) -> Any:
    if hint is not str and type(value) is str and value.startswith(_JSON_STARTS):
        return adapter(hint).validate_json(value)
    return value
