"""Files of a working copy that a contract treats in a way of their own: the job's plan, and what is secret.

The plan is the job's, not the repository's: it is laid below `plan/`, read-only where the session may not write it, and a save
holds it whole where it may and not at all where it may not.

What is secret is out of scope, out of the brief and, as far as that is cheap, out of sight: its files are not in the working
copy, the tools that read know nothing of them, and a save has them as they were, whatever was done to them. It is no lock. The
repository's history is in the session: `git show HEAD:.env` prints such a file to whoever may run git, and the files of
submodules and of what commands unpack are not looked at. A secret that was committed is one that was given away.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from minion.errors import GitFailed
from minion.git import Git
from minion.protocol import Scope, Terms, path_matcher

PLAN = "plan"


class ContractFiles:
    """Those of one session. Raises ScopeError for secret patterns that cannot be read."""

    def __init__(self, terms: Terms, scope: Scope) -> None:
        self._laid = {file.path: file.text for file in terms.plan}
        named = tuple(pattern for pattern in scope.patterns if is_plan(pattern.lstrip("/")))
        self._opened = tuple(
            Scope(mode=mode, patterns=patterns)
            for mode, patterns in ((scope.mode, named), (Scope().mode, terms.plan_outputs))
            if patterns
        )
        self._hides_own = terms.plan_hides_own
        self._has_plan = bool(self._laid or self._opened or terms.bootstrap)
        self._recorded = terms.bootstrap.path if terms.bootstrap is not None else ""
        """The file of the plan that a tool which records writes, and nothing else."""
        self._is_secret = path_matcher(terms.secret_paths) if terms.secret_paths else None
        self._entries: tuple[str, ...] = ()
        """The secret files as the index has them."""

    def is_hidden(self, path: str) -> bool:
        """Whether a path is of what the contract keeps out of sight."""
        return self._is_secret is not None and self._is_secret(path)

    def refusal(self, path: str) -> str:
        """Why a path may not be written whatever the scope says; empty where the scope decides."""
        if self.is_hidden(path):
            return f"{path} is kept from this session by its contract: it is neither read nor written."
        if path == self._recorded:
            return f"{path} has what was recorded: its tool writes it, and nothing else does."
        if self._has_plan and is_plan(path) and not any(scope.allows(path) for scope in self._opened):
            return f"{path} is of the job's plan, which this session reads and does not write."
        return ""

    def begin(self, git: Git, root: Path) -> None:
        """Take what is secret out of a fresh working copy, and lay the plan into it. Raises GitFailed or OSError."""
        if self._is_secret is not None:
            self._hide(git, root, self._is_secret)
        if self._has_plan and self._hides_own:
            git.run(root, "rm", "-r", "--quiet", "--force", "--ignore-unmatch", "--", PLAN)
        self.lay_plan(root)
        if self.leaves_plan_out:
            with (root / ".git" / "info" / "exclude").open("a", encoding="utf-8") as exclude:
                exclude.write(f"/{PLAN}/\n")

    @property
    def leaves_plan_out(self) -> bool:
        """Whether a save holds nothing of the plan there is."""
        return self._has_plan and not self._opened

    @property
    def takes_plan_in(self) -> bool:
        """Whether a save holds all of the plan, also what the repository ignores."""
        return bool(self._opened)

    def lay_plan(self, root: Path) -> None:
        """Lay the plan into a working copy. Raises GitFailed or OSError."""
        if self._has_plan and os.path.lexists(root / PLAN):
            raise GitFailed(f"the repository has its own {PLAN}/, so the job's plan has no place in it")
        for name, text in self._laid.items():
            _lay(root, name, text, is_closed=bool(self.refusal(name)))

    def record(self, root: Path, text: str) -> None:
        """Write what was recorded as Overlord has it, whatever the scope says and whatever is in its place. It is no change of the
        session's. Raises OSError."""
        _clear(root, self._recorded)
        self._laid[self._recorded] = text
        _lay(root, self._recorded, text, is_closed=True)

    def settle(self, git: Git, root: Path, extra: Mapping[str, str], *, strict: bool) -> None:
        """Make the index of a save, which has everything else already, hold these files as it should. Raises GitFailed."""
        if self._entries:
            words = ("update-index", "--add", "--replace", "-z", "--index-info")
            git.run(root, *words, extra=extra, input_text="".join(f"{entry}\0" for entry in self._entries))
        if self.leaves_plan_out:
            git.run(
                root,
                "rm",
                "-r",
                "--quiet",
                "--cached",
                "--force",
                "--ignore-unmatch",
                "--",
                PLAN,
                extra=extra,
            )
        elif self.takes_plan_in and os.path.lexists(root / PLAN):
            more = () if strict else ("--ignore-errors",)
            git.run(root, "add", "--all", "--force", *more, "--", PLAN, extra=extra, check=strict)

    def changed(self, root: Path, names: tuple[str, ...]) -> tuple[str, ...]:
        """The paths in which a save differs from the start: `names`, in which all of the plan is new, with what is new of it."""
        if not self._has_plan:
            return names
        found = tuple(name for name in names if not is_plan(name))
        return found if self.leaves_plan_out else (*found, *self._changed_plan(root))

    def _changed_plan(self, root: Path) -> tuple[str, ...]:
        there = {
            str((Path(directory) / name).relative_to(root))
            for directory, _, files in os.walk(root / PLAN)
            for name in files
        }
        return tuple(name for name in sorted(there | self._laid.keys()) if not self._is_as_laid(root, name))

    def _is_as_laid(self, root: Path, name: str) -> bool:
        place = root / name
        if name not in self._laid or place.is_symlink() or not place.is_file():
            return False
        return place.read_bytes() == _encoded(self._laid[name])

    def _hide(self, git: Git, root: Path, is_secret: Callable[[str], bool]) -> None:
        listed = git.run(root, "ls-files", "--stage", "-z").split("\0")[:-1]
        self._entries = tuple(entry for entry in listed if is_secret(entry.partition("\t")[2]))
        names = [entry.partition("\t")[2] for entry in self._entries]
        if not names:
            return
        words = ("update-index", "--skip-worktree", "-z", "--stdin")
        git.run(root, *words, input_text="".join(f"{name}\0" for name in names))
        for name in names:
            _remove(root, name)


def is_plan(path: str) -> bool:
    """Whether a path or pattern is of a job's plan."""
    return path == PLAN or path.startswith(f"{PLAN}/")


def _lay(root: Path, name: str, text: str, *, is_closed: bool) -> None:
    pure = PurePosixPath(name)
    if (
        str(pure) != name
        or pure.parts[0] != PLAN
        or len(pure.parts) < 2
        or ".." in pure.parts
        or "\0" in name
    ):
        raise GitFailed(f"{name!r} is no place for a file of the plan")
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(_encoded(text))
    if is_closed:
        place.chmod(0o444)


def _clear(root: Path, name: str) -> None:
    """Make the place of a file of the plan free: a command may have left a link or a directory there, or above it."""
    place = root
    for part in PurePosixPath(name).parts:
        place = place / part
        is_last = place == root / name
        if place.is_symlink() or (os.path.lexists(place) and place.is_dir() == is_last):
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        elif is_last:
            place.unlink(missing_ok=True)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _remove(root: Path, name: str) -> None:
    """Remove a file, or an empty submodule, and the directories it leaves empty."""
    place = root / name
    with suppress(OSError):
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
        while (place := place.parent) != root:
            place.rmdir()


def of(terms: Terms | None, scope: Scope) -> ContractFiles | None:
    """Those that a session's terms ask for; None where they ask for none."""
    asked = terms is not None and (
        terms.plan or terms.plan_outputs or terms.secret_paths or terms.bootstrap or _names_plan(scope)
    )
    return ContractFiles(terms, scope) if terms is not None and asked else None


def _names_plan(scope: Scope) -> bool:
    return any(is_plan(pattern.lstrip("/")) for pattern in scope.patterns)
