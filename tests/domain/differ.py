"""Changes and their diff without git: as git writes them, from files before and after."""

import difflib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from overlord.adapters.git.content.diff import parse_changes
from overlord.domain.scope.check import Change

FILE, LINK, GITLINK, ABSENT = "100644", "120000", "160000", "000000"


def edit(path: str, before: str | None, after: str | None, *, was: str | None = None) -> tuple[Change, str]:
    """One change and its section: added without `before`, deleted without `after`, renamed with `was`."""
    old, new = (before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True)
    body = "".join(list(difflib.unified_diff(old, new))[2:])
    signs = [line[:1] for line in body.splitlines()]
    status = "A" if before is None else "D" if after is None else "R" if was else "M"
    change = Change(
        path=path,
        status=status,
        old_path=was,
        old_mode=ABSENT if before is None else FILE,
        new_mode=ABSENT if after is None else FILE,
        added=signs.count("+"),
        removed=signs.count("-"),
    )
    names = f"--- a/{was or path}\n+++ b/{path}\n" if body else ""
    return change, f"diff --git a/{was or path} b/{path}\nindex 1..2\n{names}{body}"


def bare(
    path: str, status: str, *, old: str = FILE, new: str = FILE, binary: bool = False
) -> tuple[Change, str]:
    """A change without lines: a mode, a link, a binary file."""
    change = Change(path=path, status=status, old_mode=old, new_mode=new, binary=binary)
    return change, f"diff --git a/{path} b/{path}\nindex 1..2\n"


def together(*edits: tuple[Change, str]) -> tuple[list[Change], str]:
    return [change for change, _ in edits], "".join(text for _, text in edits)


class Repository:
    """A real one, for what only git can tell."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet", "-b", "main")

    def git(self, *words: str) -> bytes:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.invalid",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.invalid",
        }
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=environment, capture_output=True, check=True
        )
        return done.stdout

    def commit(self, files: Mapping[str, str | bytes | Path | None]) -> str:
        """Write files (a Path is a link's target, None removes) and return the commit."""
        for name, content in files.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            if isinstance(content, Path):
                place.symlink_to(content)
            elif content is not None:
                place.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD").decode().strip()

    def between(self, base: str, head: str) -> tuple[list[Change], str]:
        """As `adapters/git/mirrors.py` asks for them."""
        plain = ("-M", "--no-ext-diff", "--no-textconv")
        listed = self.git("diff", "--raw", "--numstat", "--no-abbrev", "-z", *plain, base, head, "--")
        text = self.git("diff", "--no-color", *plain, base, head, "--")
        return parse_changes(listed), text.decode(errors="replace")
