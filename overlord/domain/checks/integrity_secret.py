"""Secrets that Overlord itself was given, looked for in everything of a change that a push would publish.

Those of other people are known by their shape alone (`secret.py`); these are known by their value, so also one that looks
like nothing, and one that is written backwards or encoded. How much of it stands where is not repeated to anybody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from overlord.domain.changes.diff import FileDiff
from overlord.domain.scope.check import Change
from overlord.domain.text.secret_form import SecretSearch

MOST_LINES = 50
"""Lines that are named of one file; whoever looks at these sees the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSecret:
    """Where a secret is written, and in words what is wrong there."""

    message: str
    file: str | None
    line: int | None = None


def written_secrets(
    changes: Sequence[Change], files: Sequence[FileDiff], binaries: Mapping[str, str], search: SecretSearch
) -> Iterator[WrittenSecret]:
    """Every place. `binaries` has how one is written in each file of which a diff shows no lines, by path."""
    for change in changes:
        if how := next(filter(None, map(search.written_in, change.paths)), ""):
            yield WrittenSecret(message=_secret_sentence("The name of a file", how), file=None)
    for path, how in binaries.items():
        if how:
            yield WrittenSecret(message=_secret_sentence("This file", how), file=path)
    for file in files:
        yield from _in_lines(file, search)


def _in_lines(file: FileDiff, search: SecretSearch) -> Iterator[WrittenSecret]:
    """What this change brings in: what it takes out elsewhere in the file was there before."""
    added = list(file.added)
    how = search.written_in("\n".join(line.text for line in added))
    if not how or search.written_in("\n".join(line.text for line in file.removed)):
        return
    path = file.change.path
    found = [(line.number, kind) for line in added if (kind := search.written_in(line.text))]
    for number, kind in found[:MOST_LINES]:
        yield WrittenSecret(message=_secret_sentence("This line", kind), file=path, line=number)
    if not found:
        yield WrittenSecret(message=_secret_sentence("This file, over several lines,", how), file=path)


def _secret_sentence(what: str, how: str) -> str:
    return (
        f"{what} holds a secret that Overlord was given, {how}. Change that secret: a session could read it."
    )
