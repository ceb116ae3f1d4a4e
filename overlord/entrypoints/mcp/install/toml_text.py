"""A TOML text of a person's with one table put into it, exchanged or taken out; every other line stays as it is.

The text is cut by its lines and then read by the standard library: where that does not find what was meant, nothing is changed.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

_HEADER = re.compile(r"^[ \t]*\[")


class TomlTextError(ValueError):
    """Why a text is no TOML, or cannot be changed by its lines; for people."""


def read(text: str) -> dict[str, object]:
    """Raises TomlTextError."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlTextError(str(error)) from None


def found(text: str, path: Sequence[str]) -> Mapping[str, object] | None:
    """A table by its name; None where there is none. Raises TomlTextError."""
    value: object = read(text)
    for name in path:
        if not isinstance(value, Mapping):
            raise TomlTextError(f"{'.'.join(path[:-1])} is no table")
        value = value.get(name)
        if value is None:
            return None
    if not isinstance(value, Mapping):
        raise TomlTextError(f"{'.'.join(path)} is no table")
    return value


def put(text: str, path: Sequence[str], table: Mapping[str, object]) -> str:
    """The text with a table: where it is already, in its place, else at the end. Raises TomlTextError."""
    read(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_dumped(value)}" for name, value in table.items())]
    block = "".join(f"{line}{newline}" for line in lines)
    kept, at = _cut(text, path)
    if at is not None:
        made = kept[:at] + block + kept[at:]
    else:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        made = text + gap + block
    _check(text, made, path, table)
    return made


def remove(text: str, path: Sequence[str]) -> str:
    """The text without a table. Raises TomlTextError."""
    if found(text, path) is None:
        return text
    made, at = _cut(text, path)
    if at is not None and not made[at:].strip():
        made = made[:at].rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n") if made[:at].strip() else ""
    _check(text, made, path, None)
    return made


def _cut(text: str, path: Sequence[str]) -> tuple[str, int | None]:
    """The text without the lines of a table and of those below it, and where they began; None where they are not found."""
    names = r"\s*\.\s*".join(
        rf"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')" for name in path
    )
    ours = re.compile(rf"^[ \t]*\[\s*{names}\s*(?:\.[^\]]*)?\][ \t]*(?:#.*)?$")
    kept: list[str] = []
    at: int | None = None
    cut: list[str] = []
    """Of what is cut now."""
    is_inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            is_inside, was = ours.match(line.rstrip("\r\n")) is not None, cut
            kept += was[len(_of_table(was)) :]
            cut = []
            if is_inside and at is None:
                at = sum(map(len, kept))
        (cut if is_inside else kept).append(line)
    kept += cut[len(_of_table(cut)) :]
    return "".join(kept), at


def _of_table(lines: Sequence[str]) -> Sequence[str]:
    """A table's lines without the blank ones and comments after its last key, which belong to what comes next."""
    count = len(lines)
    while count and (not lines[count - 1].strip() or lines[count - 1].lstrip().startswith("#")):
        count -= 1
    return lines[:count]


def _dumped(value: object) -> str:
    """A value on one line. Raises TomlTextError for a date, and what else we never write."""
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_dumped, value))}]"
    if isinstance(value, Mapping):
        inside = ", ".join(
            f"{json.dumps(name, ensure_ascii=False)} = {_dumped(item)}" for name, item in value.items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    raise TomlTextError(f"it has {value!r}, which is not written again")


def _check(text: str, made: str, path: Sequence[str], table: Mapping[str, object] | None) -> None:
    """Nothing but the table may be different. Raises TomlTextError; a text is not changed in a way that was not meant."""
    try:
        after = read(made)
        is_meant = found(made, path) == table and _without(read(text), path) == _without(after, path)
    except TomlTextError:
        is_meant = False
    if not is_meant:
        raise TomlTextError(f"{'.'.join(path)} is written in a way that cannot be changed by its lines")


def _without(value: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    rest = {name: item for name, item in value.items() if name != path[0]}
    inside = value.get(path[0])
    if len(path) > 1 and isinstance(inside, Mapping) and (kept := _without(inside, path[1:])):
        rest[path[0]] = kept
    return rest
