"""What an agent asks to do, judged before it does it: the paths it would write or read, the line it would start.

It holds an agent that asks. One that does not ask is held by the container, and its work by the judge's own diff.
"""

import os
from pathlib import Path

from minion.agents.agent import Permissions
from minion.errors import ToolError
from minion.protocol import is_protected, path_matcher

_LONGEST_PATH = 4096


class Guard:
    """A session's permissions over one working copy. Symbolic links and `..` are followed before anything is judged."""

    def __init__(self, permissions: Permissions, root: Path) -> None:
        self._permissions = permissions
        self._root = Path(os.path.realpath(root))
        self._named = tuple(permissions.writable)
        self._is_writable = path_matcher(self._named)
        self._is_closed = path_matcher(tuple(permissions.closed))
        self._is_secret = path_matcher(tuple(permissions.secret))

    def allows_write(self, path: str) -> bool:
        """Whether the file may be made, changed or removed."""
        names = self._names(path)
        return (
            not self._permissions.is_reader and bool(names) and all(self._may_write(name) for name in names)
        )

    def allows_read(self, path: str) -> bool:
        """Whether the file or directory may be read: it lies in the working copy and is not kept out of sight."""
        names = self._names(path)
        return bool(names) and not any(self._is_secret(name) for name in names)

    def allows_command(self, line: str) -> bool:
        """Whether a shell may be given the line."""
        listed = self._permissions.commands
        if listed is None:
            return True
        if not listed or not line.strip() or "\0" in line:
            return False
        from minion.tools.command_list import check_commands  # few sessions have a list

        try:
            check_commands(line, listed)
        except ToolError:
            return False
        return True

    def place(self, path: str) -> Path:
        """The real place of a path that was allowed."""
        return Path(os.path.realpath(self._root / path))

    def _may_write(self, name: str) -> bool:
        if name == "." or is_protected(name, self._named) or self._is_closed(name) or self._is_secret(name):
            return False
        return self._is_writable(name)

    def _names(self, path: str) -> tuple[str, ...]:
        """The path as it is written and as links lead it, below the root; none when one of them leaves the working copy."""
        if not path or "\0" in path or len(path) > _LONGEST_PATH or path.startswith("~"):
            return ()
        try:
            lexical = Path(os.path.normpath(self._root / path))
            real = Path(os.path.realpath(lexical))
            return tuple(str(place.relative_to(self._root)) for place in (lexical, real))
        except (ValueError, OSError):
            return ()
