"""Where a commit has names and phrases, by one search through its text: bounded in what it reads back and in time."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.domain.scope.occurrences import (
    MOST_SYMBOLS,
    SUFFIXES,
    Occurrences,
    is_sought,
    occurrences,
)

MOST_FOUND_BYTES = 2_000_000
SEARCH_S = 10.0
_MOST_IN_A_FILE = 1000
_BUILT = ("*.min.js", "*/node_modules/*", "*/dist/*")


async def search(
    mirror: Path, commit: Sha, words: Sequence[str], *, within_s: float = SEARCH_S
) -> Occurrences:
    """The files that define each of the symbols, and those that have it or a phrase. What is not found in time, or stands behind
    too much else, is not found."""
    wanted = sorted({word for word in words if is_sought(word)})[:MOST_SYMBOLS]
    if not wanted:
        return Occurrences()
    arguments = (
        *("grep", "-I", "-F", "-w", "-z", "--no-color", "--no-line-number", f"--max-count={_MOST_IN_A_FILE}"),
        *(word for given in wanted for word in ("-e", given)),
        *(commit, "--"),
        *(f"*.{suffix}" for suffix in SUFFIXES),
        *(f":(exclude){pattern}" for pattern in _BUILT),
    )
    try:
        async with asyncio.timeout(within_s):
            output = await git(mirror, *arguments, limit_bytes=MOST_FOUND_BYTES, fine=(0, 1))
    except TimeoutError:
        return Occurrences()
    return occurrences(wanted, _found_lines(commit, output))


def _found_lines(commit: Sha, data: bytes) -> Iterator[tuple[str, str]]:
    """Path and text of each line found; names that are no UTF-8 left out, as in every listing."""
    for record in re.finditer(rb"^%b:([^\0]+)\0([^\n]*)$" % commit.encode(), data, re.MULTILINE):
        try:
            path = record[1].decode()
        except UnicodeDecodeError:
            continue
        yield path, record[2].decode(errors="replace")
