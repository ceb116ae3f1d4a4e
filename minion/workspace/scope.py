"""Where a session may read and write: inside its workspace, and within its scope.

Symbolic links and `..` are followed before anything is judged. This refusal is the polite one; Overlord's own
diff is the one that counts.
"""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minion.errors import ToolError
from minion.protocol import PROTECTED_ALWAYS, Scope

if TYPE_CHECKING:
    from minion.workspace.contract_files import ContractFiles


class Territory:
    """A workspace's root and the scope a session holds in it; a granted scope replaces the one before."""

    def __init__(
        self,
        root: Path,
        scope: Scope,
        *,
        modules: Collection[str] = (),
        scope_now: Callable[[], Scope | None] = lambda: None,
        contract_files: "ContractFiles | None" = None,
        can_ask: bool = True,
    ) -> None:
        """`modules` are submodules that have their files: for reading, and part of another repository. `scope_now` says what
        people have granted meanwhile, None where that cannot be had. `contract_files` are those its contract closes. `can_ask` says whether it may ask for more."""
        self.root = Path(os.path.realpath(root))
        self.scope = scope
        self._modules = modules
        self._scope_now = scope_now
        self._contract_files = contract_files
        self._can_ask = can_ask

    def readable(self, path: str) -> Path:
        """The real place of a path. Raises ToolError when it is not inside the workspace, or kept out of sight."""
        lexical, real = self._resolve(path)
        for place in (lexical, real):
            if self.is_hidden(name := self.name(place)):
                raise ToolError(self._closed(name))
        return real

    def is_hidden(self, name: str) -> bool:
        """Whether the contract keeps a path out of sight."""
        return self._contract_files is not None and self._contract_files.is_hidden(name)

    def writable(self, path: str) -> Path:
        """The real place of a path that may be written. Raises ToolError that says how to ask for more."""
        lexical, real = self._resolve(path)
        for place in (lexical, real):
            name = self.name(place)
            if name == "." or self.outside([name]):
                raise ToolError(self._refusal(name))
            for module in self._modules:
                if f"{name}/".startswith(f"{module}/"):
                    raise ToolError(
                        f"{module} is a submodule: its files are another repository's, and a change of them is never saved."
                    )
        return real

    def outside(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths that are outside the scope, looked at again before that is said: a person may have granted them."""
        closed = [path for path in paths if self._closed(path)]
        found = [path for path in paths if path not in closed and not self.scope.allows(path)]
        if found and (now := self._scope_now()) is not None:
            self.scope = now
            found = [path for path in found if not now.allows(path)]
        return closed + found

    def name(self, place: Path) -> str:
        """A place inside the workspace as people write it: relative, with `/`."""
        return str(place.relative_to(self.root))

    def _resolve(self, path: str) -> tuple[Path, Path]:
        if "\0" in path:
            raise ToolError("A path cannot hold a NUL character.")
        lexical = Path(os.path.normpath(self.root / path))
        if not lexical.is_relative_to(self.root):
            raise ToolError(
                f"{path!r} is outside the workspace. Paths are relative to the repository's root, {self.root}."
            )
        real = Path(os.path.realpath(lexical))
        if not real.is_relative_to(self.root):
            raise ToolError(f"{path!r} leads outside the workspace through a symbolic link.")
        return lexical, real

    def _closed(self, name: str) -> str:
        """Why the contract closes a path, whatever the scope says; empty where it does not."""
        return "" if self._contract_files is None else self._contract_files.refusal(name)

    def _refusal(self, name: str) -> str:
        if name == ".":
            return "That is the workspace itself, not a file in it."
        if closed := self._closed(name):
            return closed
        if any(part.casefold() in PROTECTED_ALWAYS for part in name.split("/")):
            return f"{name} is protected: no session may write it, and that cannot be asked for."
        refused = f"{name} is outside this session's scope ({self.scope.describe()}), so it was not written."
        if not self._can_ask:
            return f"{refused} If the task cannot be done without it, say so in your result."
        return (
            f"{refused} If the task "
            f'cannot be done without it, ask: ask_question(kind="scope", patterns=["{name}"], question="why it is needed").'
        )
