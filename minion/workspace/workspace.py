"""The working copy a work session edits, and how what is in it is saved.

A save is a commit of the whole tree on top of the last one that was pushed, made beside the clone's own branch
and index: whatever a command did to history, the push is a plain step forward and never forced. A command may
have pushed too: then the save goes on top of that, so that what lies on the branch is always the tree as it was saved.
"""

import re
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minion.errors import GitFailed
from minion.git import Git, persistently
from minion.protocol import Brief
from minion.workspace.checkout import Checkout
from minion.workspace.ready import ReadyCopy

if TYPE_CHECKING:
    from minion.setup.environment import Environment
    from minion.workspace.contract_files import ContractFiles

_MOVED = re.compile(r"fetch first|non-fast-forward|cannot lock ref|failed to update ref")
"""How git says that the branch is not where it was."""
_THERE = "refs/minion/there"
PUSHES = 5
"""How often a save is tried while commands go on pushing beside it."""
_NESTED = re.compile(r"error: '(.+?)/?' does not have a commit checked out")


class Workspace:
    """One session's working copy at `home/workspace`."""

    def __init__(
        self,
        home: Path,
        remote: str,
        brief: Brief,
        git: Git,
        *,
        ready: ReadyCopy | None = None,
        environment: "Environment | None" = None,
        patience_s: float = 600.0,
    ) -> None:
        self.root = home / "workspace"
        self.head: str | None = None
        """The last commit that was pushed."""
        self.patience_s = patience_s
        self.set_aside: tuple[str, ...] = ()
        """Files that are here for an agent's program alone: a save has them as they were at the start."""
        self._remote = remote
        self._branch = brief.branch
        self._start = brief.head_sha
        self._brief = brief
        self._git = git
        self._ready = ready
        self._environment = environment
        self._index = home / "save.index"
        self.contract_files = _contract_files(brief)
        self._saves = _saves(brief)
        self._saved_tree = ""
        self._compared: tuple[str, dict[str, list[str]]] = ("", {})
        self._lock = threading.Lock()
        self._cloning: threading.Thread | None = None
        self._clone_failure: GitFailed | None = None

    def begin(self) -> None:
        """Start making the working copy beside the caller; the first model request need not wait for it."""
        self._cloning = threading.Thread(target=self._clone, name="clone", daemon=True)
        self._cloning.start()

    def wait(self) -> None:
        """Return once the working copy is there. Raises GitFailed."""
        if self._cloning is not None:
            self._cloning.join()
        if self._clone_failure is not None:
            raise self._clone_failure

    @property
    def is_ready(self) -> bool:
        return bool(self._saved_tree)

    def snapshot(self) -> str:
        """The tree of everything as it is now, ignored files left out. Raises GitFailed."""
        with self._lock:
            return self._write_tree(strict=True)

    def changed(self, tree: str) -> tuple[str, ...]:
        """Paths in which a snapshot differs from where the work started."""
        names = tuple(self._differences(tree))
        return names if self.contract_files is None else self.contract_files.changed(self.root, names)

    def save(self, message: str, tree: str | None = None) -> None:
        """Commit a snapshot (one made now, if none is given) and push it, if the branch does not hold it already. Nothing of a
        consultation is kept, nor of a discipline that only reads.

        Raises GitFailed when the tree cannot be committed or the session API refuses it.
        """
        if not self._saves:
            return
        with self._lock:
            tree = tree or self._write_tree(strict=True)
            parent = self.head or self._start
            # Where nothing is new here, a command may have pushed what is not here any more.
            if tree != self._saved_tree or self._remote_head() not in ("", parent):
                self._push(message, tree)

    def rescue(self, message: str) -> None:
        """Save what can be saved, once, and let it go when that fails: work in progress."""
        if not self._saves:
            return
        with self._lock:
            patience_s, self.patience_s = self.patience_s, 0.0
            try:
                tree = self._write_tree(strict=False)
                if tree != self._saved_tree:
                    self._push(message, tree)
            except GitFailed:
                return
            finally:
                self.patience_s = patience_s

    def _clone(self) -> None:
        checkout = Checkout(self.root, self._remote, self._brief, self._git, persistently=self._persistently)
        try:
            tree = checkout.make(self._ready)
            self._lay_over()
            if self.contract_files is not None:
                self.contract_files.begin(self._git, self.root)
            self._saved_tree = tree
        except GitFailed as error:
            self._clone_failure = error
        except (OSError, ValueError) as error:
            self._clone_failure = GitFailed(f"git clone: {error}")

    def _lay_over(self) -> None:
        """Put in what the repository's setup left beside its files; that is never saved."""
        hidden = None if self.contract_files is None else self.contract_files.is_hidden
        laid = () if self._environment is None else self._environment.lay_over(self.root, but=hidden)
        if laid:
            with (self.root / ".git" / "info" / "exclude").open("a", encoding="utf-8") as exclude:
                exclude.writelines(f"{name}\n" for name in laid)

    def _push(self, message: str, tree: str) -> None:
        parent = self.head or self._start
        words = message.replace("\0", " ")  # git takes no message with one in it
        for left in reversed(range(PUSHES)):
            head = self._git.run(self.root, "commit-tree", tree, "-p", parent, input_text=words).strip()
            if self._git.push_directly(self.root, self._remote, f"refs/heads/{self._branch}", parent, head):
                break
            push = ("push", "--quiet", "--no-verify", self._remote, f"{head}:refs/heads/{self._branch}")
            try:
                self._persistently(partial(self._git.run, self.root, *push))
                break
            except GitFailed as error:
                if not left or not _MOVED.search(str(error)):
                    raise
            parent = self._fetched_head()
        self.head, self._saved_tree = head, tree

    def _remote_head(self) -> str:
        """Where the session's branch is; empty when it is nowhere yet."""
        asked = ("ls-remote", "--quiet", self._remote, f"refs/heads/{self._branch}")
        return self._persistently(lambda: self._git.run(self.root, *asked)).partition("\t")[0]

    def _fetched_head(self) -> str:
        """The same, with its history: a command may have pushed it from another clone."""
        wanted = f"+refs/heads/{self._branch}:{_THERE}"
        fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self._remote, wanted)
        self._persistently(lambda: self._git.run(self.root, *fetch))
        return self._git.run(self.root, "rev-parse", "--verify", _THERE).strip()

    def _write_tree(self, *, strict: bool) -> str:
        extra = {"GIT_INDEX_FILE": str(self._index)}
        words = ("add", "--all") if strict else ("add", "--all", "--ignore-errors")
        try:
            # With its time: git compares files against it to find edits made within the same clock tick.
            shutil.copy2(self.root / ".git" / "index", self._index)
            self._git.run(self.root, *words, extra=extra)
        except (OSError, GitFailed):
            # A command left an index that cannot be used, or a file that cannot be added: once more, from the start.
            self._index.unlink(missing_ok=True)
            self._git.run(self.root, "read-tree", self._start, extra=extra)
            try:
                self._git.run(self.root, *words, extra=extra, check=strict)
            except GitFailed as error:
                raise _add_failure(error) from error
        if self.contract_files is not None:
            self.contract_files.settle(self._git, self.root, extra, strict=strict)
        if self.set_aside:
            self._put_back(self.set_aside, extra)
        tree = self._git.run(self.root, "write-tree", extra=extra).strip()
        tree = self._without_links(tree, strict=strict)
        if self._ready is None or not (large := self._ready.large):
            return tree
        from minion.workspace.large import Pointers  # most sessions have none

        return Pointers(self._git, self.root, large).put_back(self._start, tree, self._index, strict=strict)

    def _put_back(self, names: tuple[str, ...], extra: dict[str, str]) -> None:
        """Make the index of a save hold some files as they were at the start."""
        none = "0" * len(self._start)
        listed = self._git.run(self.root, "ls-tree", "-z", self._start, "--", *names)
        entries = [
            *(f"0 {none}\t{name}" for name in names),
            *(entry for entry in listed.split("\0") if entry and not entry.startswith("040000")),
        ]
        words = ("update-index", "--add", "--replace", "-z", "--index-info")
        self._git.run(self.root, *words, extra=extra, input_text="".join(f"{entry}\0" for entry in entries))

    def _without_links(self, tree: str, *, strict: bool) -> str:
        """A tree whose submodules are as at the start: a repository inside this one is no work, and none of it is saved."""
        changed = self._differences(tree)
        links = {path: about for path, about in changed.items() if "160000" in (about[0][1:], about[1])}
        if not links:
            return tree
        extra = {"GIT_INDEX_FILE": str(self._index)}
        if strict:
            raise _nested(", ".join(links))
        entries = "".join(f"{about[0][1:]} {about[2]}\t{path}\0" for path, about in links.items())
        self._git.run(self.root, "update-index", "-z", "--index-info", extra=extra, input_text=entries)
        return self._git.run(self.root, "write-tree", extra=extra).strip()

    def _differences(self, tree: str) -> dict[str, list[str]]:
        """The paths in which a tree differs from where the work started, with git's words about each; those of the last tree are kept."""
        compared = self._compared
        if compared[0] != tree:
            # Beside the repository's own index, which a command may have left so that no git can read it.
            extra = {"GIT_INDEX_FILE": str(self._index)}
            asked = ("diff-tree", "-r", "-z", "--no-renames", self._start, tree)
            listed = self._git.run(self.root, *asked, extra=extra)
            words = iter(listed.split("\0")[:-1])
            found = {path: about.split(" ") for about, path in zip(words, words, strict=True)}
            compared = self._compared = tree, found
        return compared[1]

    def _persistently(self, attempt: Callable[[], str]) -> str:
        return persistently(attempt, patience_s=self.patience_s)


def _saves(brief: Brief) -> bool:
    """Whether what a session changes is kept."""
    if brief.discipline is not None:
        return brief.discipline.writes
    return brief.terms is None or brief.terms.consultation is None


def _contract_files(brief: Brief) -> "ContractFiles | None":
    if brief.terms is None:
        return None
    from minion.workspace import contract_files  # most sessions have no contract's terms

    return contract_files.of(brief.terms, brief.scope)


def _add_failure(error: GitFailed) -> GitFailed:
    """The failure to add, in words a model can act on where it is a repository without a commit."""
    found = _NESTED.search(str(error))
    return error if found is None else _nested(found.group(1))


def _nested(names: str) -> GitFailed:
    return GitFailed(
        f"{names}: a git repository of its own inside this one (or a submodule that was moved) cannot be part of the work. "
        f"Delete its .git to have its files saved, or all of it; put a submodule back as it was."
    )
