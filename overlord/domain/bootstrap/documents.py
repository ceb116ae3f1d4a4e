"""Which files of a repository are its documents, and how much of a file is read of it."""

from collections.abc import Collection

MOST_DOCUMENTS = 40
MOST_DOCUMENT_BYTES = 200_000
MOST_FILE_BYTES = 1_000_000
"""Of any other file that is read."""
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
