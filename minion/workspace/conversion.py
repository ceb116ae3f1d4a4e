"""Files that git would take for changed though nobody touched them: their bytes do not survive the conversions asked of them.

A CRLF file committed under `text`, an expanded `$Id$`: such a file is worked on byte by byte, as it is in the repository.
What is left of a repository's attributes works as its people know it.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from minion.errors import GitFailed
from minion.git import Git

AS_IT_IS = "-text -ident -filter !working-tree-encoding"
"""What git is told of a file it shall not convert."""
EVERYTHING = f"* {AS_IT_IS}\n"


def has_attributes(git: Git, root: Path) -> bool:
    """Whether anything in a working copy asks for conversions."""
    return bool(git.run(root, "ls-files", "-z", "--", ":(glob)**/.gitattributes"))


def hold_still(
    git: Git, root: Path, names: Collection[str] | None = None, *, but: Collection[str] = ()
) -> tuple[str, ...]:
    """Lay those of `names` (of all files, if none are given) out byte by byte that git would convert into something else.
    Those of `but` are meant to be something else than git has.

    Returns them. Raises GitFailed or OSError.
    """
    moving = _moving(git, root, names, but)
    if moving:
        attributes = root / ".git" / "info" / "attributes"
        before = attributes.read_text() if attributes.exists() else ""
        lines = "".join(f"{pattern(name)} {AS_IT_IS}\n" for name in moving)
        attributes.write_text(before + lines, errors="surrogateescape")
        for name in moving:
            (root / name).unlink()
        git.run(
            root, "checkout-index", "--force", "--index", "-z", "--stdin", input_text=_nul_separated(moving)
        )
    return moving


def _moving(git: Git, root: Path, names: Collection[str] | None, but: Collection[str]) -> tuple[str, ...]:
    """The files whose content, read back, is not what the index says; looked at without what it knows of them."""
    wanted = None if names is None else set(names)
    listed = git.run(root, "ls-files", "--stage", "-z").split("\0")[:-1]
    files = {line.partition("\t")[2]: line for line in listed if line.startswith("100")}
    asked = {
        name: line for name, line in files.items() if (wanted is None or name in wanted) and name not in but
    }
    scratch = root / ".git" / "still.index"
    extra = {"GIT_INDEX_FILE": str(scratch)}
    try:
        git.run(
            root, "update-index", "-z", "--index-info", extra=extra, input_text=_nul_separated(asked.values())
        )
        git.run(root, "update-index", "-q", "--refresh", extra=extra, check=False)
        found = git.run(root, "diff-files", "-z", "--name-only", extra=extra).split("\0")[:-1]
    finally:
        scratch.unlink(missing_ok=True)
    return tuple(dict.fromkeys((*found, *_unreadable(git, root, asked))))


def _unreadable(git: Git, root: Path, names: Collection[str]) -> Iterator[str]:
    """The files that cannot be read back at all: an encoding nobody knows, or that they are not in."""
    asked = ("check-attr", "-z", "--stdin", "working-tree-encoding")
    words = iter(git.run(root, *asked, input_text=_nul_separated(names)).split("\0")[:-1])
    for name, _, encoding in zip(words, words, words, strict=True):
        if encoding != "unspecified":
            try:
                git.run(root, "hash-object", "-w", "--", name)
            except GitFailed:
                yield name


def _nul_separated(items: Iterable[str]) -> str:
    return "".join(f"{item}\0" for item in items)


def pattern(name: str) -> str:
    """The attribute pattern that means this file and no other."""
    plain = "".join(f"\\{letter}" if letter in "\\*?[" else letter for letter in name)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"/{quoted}"'
