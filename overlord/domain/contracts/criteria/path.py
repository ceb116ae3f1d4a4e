"""Paths and patterns as criteria take them: inside the repository, on one line, with `/`."""

import re
import unicodedata
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MARKS = re.compile(r"[*?\[\\]")


def _inside(value: str) -> str:
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in value):
        raise ValueError("a path is one line without control characters")
    pure = PurePosixPath(value)
    if not value.strip() or not pure.parts or pure.is_absolute() or ".." in pure.parts:
        raise ValueError("a path is relative to the repository's root and stays inside it: `docs/plan.md`")
    if ".git" in (part.casefold() for part in pure.parts):
        raise ValueError("nothing below .git is a file of the repository")
    return str(pure)


def _pattern(value: str) -> str:
    if value.startswith(("!", "#")):
        raise ValueError("a pattern says what is meant, and begins with no `!` or `#`")
    _inside(value.strip("/") or "/")
    try:
        _spec(value)
    except (ValueError, re.error) as error:
        raise ValueError(f"this is no pattern: {error}") from None
    return value


def _spec(pattern: str) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # commands that read no such contract do without

    return GitIgnoreSpec.from_lines(["/" + pattern.lstrip("/")])


def is_there(pattern: str, paths: frozenset[str]) -> bool:
    """Whether one of the files is meant by a pattern, which is read as a scope's: as in a .gitignore, from the root."""
    plain = pattern.strip("/")
    if plain in paths and not pattern.endswith("/"):
        return True
    if not _MARKS.search(pattern):
        return any(path.startswith(f"{plain}/") for path in paths)
    spec = _spec(pattern)
    return any(spec.match_file(path) for path in paths)


RepositoryPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_inside)]
"""Of one file or directory."""
PathPattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]
"""Of files and directories, read as in a .gitignore from the repository's root."""
