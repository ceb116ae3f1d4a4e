"""A call's arguments as they are checked: each known, of its kind, within bounds; what is missing is named."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import PurePosixPath
from typing import cast

from overlord.domain.disciplines.catalog import Argument, ArgumentKind, DisciplineKind, DisciplineName
from overlord.domain.event import Json
from overlord.domain.text.plain import visible

MOST_CHARS = 200_000
"""Of one text."""
MOST_FILES = 200
MOST_PATH_CHARS = 500
MOST_KEY_CHARS = 200
PATHS = ("test_path", "impl_path", "output_path")
DEFAULT_OUTPUT = "docs/spec.md"
"""Where a specification is written when nobody says where."""


class ArgumentError(ValueError):
    """A call whose arguments are not those of its discipline; the words are for whoever calls."""


def checked(kind: DisciplineKind, given: Mapping[str, object]) -> dict[str, Json]:
    """The arguments of a call, those left out missing. Raises ArgumentError: `project_root is required`, `files must be a list of texts`."""
    return checked_by(kind.name, kind.arguments, given)


def checked_by(tool: str, arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, Json]:
    """The same for any tool. Raises ArgumentError."""
    known = {item.name: item for item in arguments}
    if unknown := sorted(set(given) - set(known)):
        named = ", ".join(visible(name)[:60] for name in unknown[:5])
        raise ArgumentError(f"{tool} has no argument {named}; it has {', '.join(known) or 'none'}")
    made: dict[str, Json] = {}
    for name, item in known.items():
        value = given.get(name)
        if value is None:
            if item.is_required:
                raise ArgumentError(f"{name} is required")
            continue
        made[name] = _of_kind(name, item.kind, value, is_required=item.is_required)
    for name in PATHS:
        if (path := made.get(name)) and isinstance(path, str):
            made[name] = relative_path(name, path)
    if isinstance(files := made.get("files"), list):
        made["files"] = [relative_path("files", str(path)) for path in files]
    session = str(made.get("session_id", ""))
    if len(session) > MOST_KEY_CHARS or not session.isprintable():
        raise ArgumentError(f"session_id is one line of at most {MOST_KEY_CHARS} characters")
    return made


def _of_kind(name: str, kind: ArgumentKind, value: object, *, is_required: bool) -> Json:
    if kind is ArgumentKind.BOOLEAN:
        if not isinstance(value, bool):
            raise ArgumentError(f"{name} must be true or false")
        return value
    if kind is ArgumentKind.NUMBER:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number and not (isinstance(value, float) and isfinite(value)):
            raise ArgumentError(f"{name} must be a number")
        return cast(Json, value)
    if kind is ArgumentKind.TEXTS:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ArgumentError(f"{name} must be a list of texts")
        if is_required and not value:
            raise ArgumentError(f"{name} is required")
        if len(value) > MOST_FILES:
            raise ArgumentError(f"{name} takes at most {MOST_FILES}")
        return [str(item) for item in value]
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a text")
    if is_required and not value.strip():
        raise ArgumentError(f"{name} is required")
    if len(value) > MOST_CHARS:
        raise ArgumentError(f"{name} has {len(value):,} characters; at most {MOST_CHARS:,} are taken")
    if "\0" in value:
        raise ArgumentError(
            f"{name} holds a NUL character, which no file and no command can hold; leave it out"
        )
    return value


def relative_path(name: str, text: str) -> str:
    """A path inside the project, in its normal form. Raises ArgumentError for one that leaves it, or is no path of a file."""
    pure = PurePosixPath(text.strip().replace("\\", "/"))
    if (
        pure.is_absolute()
        or ".." in pure.parts
        or not pure.parts
        or len(text) > MOST_PATH_CHARS
        or not text.isprintable()
    ):
        raise ArgumentError(
            f"{name} must be a path inside project_root, relative to it: {visible(text)[:120]!r}"
        )
    if pure.parts[0].casefold() in {".git", ".nebulus"} or ".git" in {part.casefold() for part in pure.parts}:
        raise ArgumentError(f"{name} names what no session writes: {visible(text)[:120]!r}")
    return str(pure)


def needed_files(discipline: DisciplineName, arguments: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The files that a call is about and that must be there already, by the argument that names them."""
    needed: dict[str, tuple[str, ...]] = {}
    if isinstance(files := arguments.get("files"), list | tuple):
        needed["files"] = tuple(str(item) for item in files)
    wanted = {
        DisciplineName.TDD_GREEN: ("test_path",),
        DisciplineName.TDD_REFACTOR: ("test_path", "impl_path"),
    }
    for name in wanted.get(discipline, ()):
        if isinstance(path := arguments.get(name), str) and path:
            needed[name] = (path,)
    return needed
