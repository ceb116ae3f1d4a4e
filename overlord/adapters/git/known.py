"""What a session's repository holds already that git would refuse: old repositories have `.gitmodules` that it takes no more.

Git looks at the file anew with each commit that has it, whoever wrote it. So those of the commits a session begins with are listed
for git by their content; whatever else comes is looked at. A change of such a file is a person's to decide (`domain/checks/integrity.py`).
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from overlord.adapters.git.command import EMPTY_TREE, git
from overlord.domain.identifiers import Sha

_FILE = "fsck-known"
CONFIG = f'[receive "fsck"]\n\tskipList = {_FILE}\n'
"""A path without a directory: git takes none with a space or a comma in it."""
_LISTING = ("diff-tree", "-r", "-z", "--no-renames", EMPTY_TREE)


async def gitmodules_of(repository: Path, commit: Sha) -> frozenset[str]:
    """What a commit has of `.gitmodules`, by the names of the contents."""
    output = await git(repository, *_LISTING, commit, "--", ":(glob)**/.gitmodules", bounded=True)
    return frozenset(words.split()[3].decode() for words in output.split(b"\0")[:-1:2])


def write_known(repository: Path, found: Iterable[Collection[str]]) -> None:
    """Write down what commits have of `.gitmodules`; nothing is written where they have none."""
    if known := set[str]().union(*found):
        (repository / _FILE).write_text("".join(f"{named}\n" for named in sorted(known)))
        with (repository / "config").open("a", encoding="utf-8") as config:
            config.write(CONFIG)


def known_when_fetched(repository: Path) -> tuple[Mapping[str, str], Path | None]:
    """The settings, and the directory to be in, for a fetch that takes what was there before as it is."""
    if not (repository / _FILE).exists():
        return {}, None
    return {"fetch.fsck.skipList": _FILE}, repository
