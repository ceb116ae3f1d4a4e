"""How much a tree lists and holds, found out before anything reads it whole.

A tree may name itself over and over: a few kilobytes list without end. What a session pushed is measured where it lies, by
counting what streams past; what people pushed is read up to a bound.
"""

from pathlib import Path

from overlord.adapters.git.command import OverLimit, git, output_bytes
from overlord.adapters.git.content.diff import parse_batch_check
from overlord.domain.identifiers import Sha
from overlord.errors import GitFailed


class TooLong(GitFailed):
    """A commit lists more than is ever read."""


MOST_LISTED_BYTES = 100_000_000
"""About a million files."""
MOST_MORE_BYTES = 10_000_000
"""By how much a session may make the list longer: a hundred thousand files are none that anybody judges."""
MOST_CHANGED_BYTES = 500_000_000
"""What the files a session adds or modifies may hold together."""
MOST_FILE_BYTES = 200_000_000
"""What one of them may hold: more than a forge takes, and less than a bounded git refuses to hold at once."""
COMPARED_BYTES = 4_000_000
"""What of more than this is changed is compared once, to see whether that can be done."""
LONGEST_PATH_BYTES = 4096
"""Longer than any file system takes. Deeper trees than that can hold end git itself."""
# With the directories: trees may go on for ever without a file.
_LIST = ("ls-tree", "-r", "-t", "-z")
_REMOVED = b"0" * 40
LISTING_CHANGES = (
    *("diff", "--raw", "--numstat", "--no-abbrev", "-z", "-M"),
    *("--no-ext-diff", "--no-textconv"),
)
"""How a commit's changes are listed, for whoever judges them."""


async def listed(repository: Path, commit: Sha, *words: str) -> bytes:
    """What `git ls-tree -r -t -z` prints of a commit. Raises TooLong."""
    output = await git(repository, *_LIST, *words, commit, limit_bytes=MOST_LISTED_BYTES, bounded=True)
    if len(output) >= MOST_LISTED_BYTES:
        raise TooLong(f"The list of the files of {commit} is longer than {MOST_LISTED_BYTES:,} bytes")
    return output


async def excess(repository: Path, tree: Sha, parent: Sha) -> str:
    """What of a tree is more than is ever read, seen from the commit it was made on; empty when nothing is."""
    try:
        return await _excess(repository, tree, parent)
    except OverLimit:
        return "to compare it with what was there, git needs more memory or time than it may have"


async def _excess(repository: Path, tree: Sha, parent: Sha) -> str:
    limit = MOST_MORE_BYTES
    if await output_bytes(repository, *_LIST, tree, most=limit) >= limit:
        before = await output_bytes(repository, *_LIST, parent, most=MOST_LISTED_BYTES)
        limit = min(before + MOST_MORE_BYTES, MOST_LISTED_BYTES)
        if await output_bytes(repository, *_LIST, tree, most=limit) >= limit:
            return f"it makes the list of files longer by {MOST_MORE_BYTES:,} bytes or more"
    changed = await _changed(repository, tree, parent)
    if any(len(path) > LONGEST_PATH_BYTES for path, _ in changed):
        return f"the path of a file in it has more than {LONGEST_PATH_BYTES:,} bytes"
    asked = b"".join(named + b"\n" for _, named in changed)
    sizes = parse_batch_check(await git(repository, "cat-file", "--batch-check", stdin=asked, bounded=True))
    largest, together = max((size or 0 for size in sizes), default=0), sum(size or 0 for size in sizes)
    if together > MOST_CHANGED_BYTES:
        return f"the files it changes have more than {MOST_CHANGED_BYTES:,} bytes together"
    if largest > MOST_FILE_BYTES:
        return f"a file it changes has more than {MOST_FILE_BYTES:,} bytes"
    if together > COMPARED_BYTES:
        await output_bytes(repository, *LISTING_CHANGES, parent, tree, "--", most=MOST_LISTED_BYTES)
    return ""


async def _changed(repository: Path, tree: Sha, parent: Sha) -> list[tuple[bytes, bytes]]:
    """What is not as it was and is there now, directories too: paths and objects."""
    # No renames: to find them, git would read every file.
    words = ("diff-tree", "-r", "-t", "-z", "--no-renames", f"{parent}^{{tree}}", tree)
    output = await git(repository, *words, bounded=True)
    fields = iter(output.split(b"\0")[:-1])
    now = ((path, words.split()[3]) for words, path in zip(fields, fields, strict=True))
    return [(path, named) for path, named in now if named != _REMOVED]
