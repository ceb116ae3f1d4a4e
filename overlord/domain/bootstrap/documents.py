"""Which files of a repository are its documents, and how much of a file is read of it."""

import re
from collections.abc import Collection, Sequence

MOST_DOCUMENTS = 40
MOST_DOCUMENT_BYTES = 200_000
MOST_FILE_BYTES = 1_000_000
"""Of any other file that is read."""
GIVEN = "plan/documents/"
"""Where a session reads the documents that were given."""
MOST_NAME, MOST_SUFFIX = 60, 12
"""Characters of a given document's name, and of how it ends."""
_FIRST = ("vision.md", "architecture.md")
_SUFFIXES = (".md", ".markdown", ".rst", ".txt")
_DOCUMENTATION = ("docs", "doc", "documentation")
_FOR_TESTS = frozenset({"tests", "test", "testdata", "fixtures", "__tests__"})
"""Directories whose documents say nothing about the project: tests read them."""
_DECISIONS = ("adr", "adrs", "decisions", "rfcs")
_NOT_WALKED = frozenset(
    {"node_modules", "vendor", "third_party", "site-packages", ".venv", "venv", ".git", ".nebulus"}
)
_NO_PROSE = ("requirements", "constraints", "robots.txt", "cmakelists.txt", "llms.txt")


def documents(names: Collection[str]) -> tuple[str, ...]:
    """The paths of a repository's documents, those that say most first, and as many as are read."""
    found = [(rank, name.count("/"), name) for name in names if (rank := _rank(name)) is not None]
    return tuple(name for _, _, name in sorted(found)[:MOST_DOCUMENTS])


def given_paths(names: Sequence[str]) -> tuple[str, ...]:
    """Where documents that were given are laid for a session: one plain name each below `plan/documents`, whatever they are called.

    A name is others' text: it may be a path anywhere, have signs that no file should have, or be there twice."""
    made: list[str] = []
    for name in names:
        stem, suffix = _plain_name(name)
        found = f"{stem}{suffix}"
        for number in range(2, len(names) + 2):
            if found.casefold() not in map(str.casefold, made):
                break
            found = f"{stem}-{number}{suffix}"
        made.append(found)
    return tuple(f"{GIVEN}{name}" for name in made)


def _plain_name(name: str) -> tuple[str, str]:
    """The last part of a path without what is unusual, and how it ends."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    stem, dot, suffix = last.rpartition(".") if "." in last.lstrip(".") else (last, "", "")
    stem, suffix = [re.sub(r"[^\w.-]+", "-", text).strip(".-") for text in (stem, suffix)]
    return stem[:MOST_NAME] or "document", f".{suffix[:MOST_SUFFIX]}" if dot and suffix else ""


def is_document(path: str) -> bool:
    """Whether a path is one of a document, by its name."""
    return _rank(path) is not None


def most_bytes(path: str) -> int:
    """How much of a file is read; what is beyond that is left out."""
    return MOST_DOCUMENT_BYTES if is_document(path) else MOST_FILE_BYTES


def _rank(path: str) -> int | None:
    """0 for the first to be read; None for what is no document."""
    *directories, name = path.casefold().split("/")
    if not _NOT_WALKED.isdisjoint(directories) or not _FOR_TESTS.isdisjoint(directories):
        return None
    if name in _FIRST:
        return 0
    is_readme = name.partition(".")[0] == "readme" and (name == "readme" or name.endswith(_SUFFIXES))
    if is_readme and not directories:
        return 1
    if not is_readme and (not name.endswith(_SUFFIXES) or name.startswith(_NO_PROSE)):
        return None
    if any(directory in _DECISIONS for directory in directories):
        return 2
    if directories and directories[0] in _DOCUMENTATION:
        return 3
    return 4 if is_readme else None
