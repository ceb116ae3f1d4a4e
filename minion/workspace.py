"""The clone a work session edits, and how what is in it is saved.

A save is a commit of the whole tree on top of the last one that was pushed, made beside the clone's own branch
and index: whatever a command did to history, the push is a plain step forward and never forced.
"""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from minion.errors import GitFailed
from minion.git import EMAIL, NAME, Git
from minion.protocol import Brief

_CLONE_SETTINGS = (
    f"user.name={NAME}",
    f"user.email={EMAIL}",
    "core.hooksPath=/dev/null",
    "commit.gpgSign=false",
    "gc.auto=0",
)
# What tools leave behind in any repository, also in one that does not ignore it.
_NEVER_SAVED = "__pycache__/\n*.py[co]\n.pytest_cache/\n.ruff_cache/\n.mypy_cache/\n"


class Workspace:
    """One session's clone at `home/workspace`."""

    def __init__(self, home: Path, remote: str, brief: Brief, git: Git, *, patience_s: float = 600.0) -> None:
        self.root = home / "workspace"
        self.head: str | None = None
        """The last commit that was pushed."""
        self.patience_s = patience_s
        self._remote = remote
        self._branch = brief.branch
        self._start = brief.head_sha
        self._git = git
        self._index = home / "save.index"
        self._saved_tree = ""
        self._lock = threading.Lock()
        self._cloning: threading.Thread | None = None
        self._clone_failure: GitFailed | None = None

    def begin(self) -> None:
        """Start cloning beside the caller; the first model request need not wait for it."""
        self._cloning = threading.Thread(target=self._clone, name="clone", daemon=True)
        self._cloning.start()

    def wait(self) -> None:
        """Return once the clone is there. Raises GitFailed."""
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
        listed = self._git.run(self.root, "diff-tree", "-r", "-z", "--name-only", self._start, tree)
        return tuple(name for name in listed.split("\0") if name)

    def save(self, message: str, tree: str | None = None) -> None:
        """Commit a snapshot (one made now, if none is given) and push it, if it differs from the last.

        Raises GitFailed when the tree cannot be committed or the door refuses it.
        """
        with self._lock:
            self._push(message, tree or self._write_tree(strict=True))

    def rescue(self, message: str) -> None:
        """Save what can be saved, once, and let it go when that fails: work in progress."""
        with self._lock:
            patience_s, self.patience_s = self.patience_s, 0.0
            try:
                self._push(message, self._write_tree(strict=False))
            except GitFailed:
                return
            finally:
                self.patience_s = patience_s

    def _clone(self) -> None:
        settings = [word for setting in _CLONE_SETTINGS for word in ("-c", setting)]
        words = ["clone", "--quiet", "--no-checkout", "--template=", *settings, self._remote, str(self.root)]
        try:
            self._persistently(lambda: self._git.run(self.root.parent, *words))
            self._git.run(self.root, "checkout", "--quiet", "-B", self._branch, self._start)
            info = self.root / ".git" / "info"
            info.mkdir(exist_ok=True)
            (info / "exclude").write_text(_NEVER_SAVED)
            self._saved_tree = self._git.run(self.root, "rev-parse", f"{self._start}^{{tree}}").strip()
        except GitFailed as error:
            self._clone_failure = error
        except OSError as error:
            self._clone_failure = GitFailed(f"git clone: {error}")

    def _push(self, message: str, tree: str) -> None:
        if tree == self._saved_tree:
            return
        parent = self.head or self._start
        head = self._git.run(self.root, "commit-tree", tree, "-p", parent, given=message).strip()
        target = f"{head}:refs/heads/{self._branch}"
        words = ("push", "--quiet", "--no-verify", self._remote, target)
        self._persistently(lambda: self._git.run(self.root, *words))
        self.head, self._saved_tree = head, tree

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
            self._git.run(self.root, *words, extra=extra, check=strict)
        return self._git.run(self.root, "write-tree", extra=extra).strip()

    def _persistently(self, attempt: Callable[[], str]) -> None:
        """Repeat what failed only because the way to the door was cut."""
        until = time.monotonic() + self.patience_s
        while True:
            try:
                attempt()
                return
            except GitFailed as error:
                if not error.transient or time.monotonic() >= until:
                    raise
            time.sleep(min(1.0, self.patience_s))
