"""How a session comes to its working copy: from a ready copy and the difference, or by a clone over its session API.

Both end the same: the session's branch checked out at its head, no hooks, and nothing that git takes for changed.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from minion.errors import GitFailed
from minion.git import EMAIL, NAME, Git
from minion.protocol import Brief
from minion.workspace.conversion import EVERYTHING, has_attributes, hold_still
from minion.workspace.ready import ReadyCopy

_SETTINGS = (
    ("user.name", NAME),
    ("user.email", EMAIL),
    ("core.hooksPath", "/dev/null"),
    ("commit.gpgSign", "false"),
    ("gc.auto", "0"),
)
# What tools leave behind in any repository, also in one that does not ignore it.
_NEVER_SAVED = "__pycache__/\n*.py[co]\n.pytest_cache/\n.ruff_cache/\n.mypy_cache/\n"


class Checkout:
    """The making of one working copy, at `root`. `persistently` repeats what the way to the session API cut short."""

    def __init__(
        self,
        root: Path,
        remote: str,
        brief: Brief,
        git: Git,
        *,
        persistently: Callable[[Callable[[], str]], str],
    ) -> None:
        self._root = root
        self._remote = remote
        self._brief = brief
        self._git = git
        self._persistently = persistently

    def make(self, ready: ReadyCopy | None) -> str:
        """Make it, and return the tree it starts from. Raises GitFailed, OSError or ValueError."""
        if ready is None or not self._from_ready(ready):
            self._from_session_api()
        elif self._brief.head_sha == self._brief.base_sha:
            if names := ready.doubtful:
                hold_still(self._git, self._root, names)
            return ready.tree
        if has_attributes(self._git, self._root):
            large = ready.large if ready is not None else ()
            hold_still(self._git, self._root, but={kept.path for kept in large})
        return self._git.run(self._root, "rev-parse", f"{self._brief.head_sha}^{{tree}}").strip()

    def _from_ready(self, ready: ReadyCopy) -> bool:
        """Lay the base out, and fetch the commits a revision goes on from. False where the copy is of no use here."""
        brief = self._brief
        own = f"refs/heads/{brief.branch}"
        names = (own, f"refs/heads/{brief.base_branch}", f"refs/remotes/origin/{brief.base_branch}")
        base = dict.fromkeys(names, brief.base_sha)
        try:
            ready.lay_out(self._root, head=f"ref: {own}", config=self._config(), references=base)
        except (OSError, ValueError) as error:
            shutil.rmtree(self._root, ignore_errors=True)
            if ready.modules or ready.large:  # a clone would have none of them
                raise GitFailed(f"the ready copy cannot be laid out: {error}") from error
            return False
        self._configure_git(ready.attributes)
        if brief.head_sha != brief.base_sha:
            words = (
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                self._remote,
                f"+{own}:refs/remotes/origin/{brief.branch}",
            )
            self._persistently(lambda: self._git.run(self._root, *words))
            self._git.run(self._root, "reset", "--quiet", "--hard", brief.head_sha)
        return True

    def _from_session_api(self) -> None:
        settings = [word for name, value in _SETTINGS for word in ("-c", f"{name}={value}")]
        words = ["clone", "--quiet", "--no-checkout", "--template=", *settings, self._remote, str(self._root)]
        self._persistently(lambda: self._git.run(self._root.parent, *words))
        self._configure_git("")
        words = ["checkout", "--quiet", "-B", self._brief.branch, self._brief.head_sha]
        try:
            self._git.run(self._root, *words)
        except GitFailed:
            # Attributes that git refuses: it can still be worked on byte by byte.
            self._configure_git(EVERYTHING)
            self._git.run(self._root, *words, "--force")

    def _configure_git(self, attributes: str) -> None:
        """What is never saved, and what git must know of files before it sees them."""
        info = self._root / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_text(_NEVER_SAVED)
        if attributes:
            (info / "attributes").write_text(attributes)

    def _config(self) -> str:
        remote = (
            ("remote.origin.url", self._remote),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        )
        plain = (
            ("core.repositoryformatversion", "0"),
            ("core.bare", "false"),
            ("core.logAllRefUpdates", "true"),
        )
        return "".join(_line(*setting) for setting in (*plain, *_SETTINGS, *remote))


def _line(name: str, value: str) -> str:
    section, _, key = name.rpartition(".")
    outer, _, inner = section.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    heading = f'[{outer} "{inner}"]' if inner else f"[{outer}]"
    return f'{heading}\n\t{key} = "{quoted}"\n'
