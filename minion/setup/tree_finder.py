"""Makes a repository's own packages importable from the tree a command runs in, wherever that is.

A setup session copies this file into the environment it makes, in the place of editable installs: these name one tree,
and sessions each have their own (`MINION_TREE`). It stands in for nothing that is installed; it gives no metadata of a
tree, so none can bring plug-ins; it never gives what Python imports by itself at its start. After the tree it offers
pytest from the Python that runs the Minion (`MINION_TOOLCHAIN`). Runs on Python 3.8, in every process.
"""
# pathlib would cost every Python that starts in the environment ten milliseconds.
# ruff: noqa: PTH110, PTH118

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False  # `typing` would cost as much as pathlib
if TYPE_CHECKING:
    from typing import Any

NEVER = frozenset({"sitecustomize", "usercustomize"})
TOOLCHAIN = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "typing_extensions",
})  # fmt: skip
"""What pytest is made of. The rest of the toolchain are programs, found on PATH."""


class TreeFinder:
    """`roots` are directories of the tree that hold packages; `places` are single packages and where they lie."""

    def __init__(self, roots: Sequence[str], places: Mapping[str, str], known: Sequence[str]) -> None:
        self._roots = roots
        self._places = places
        self._known = frozenset(known)
        self.known_only = False
        """Whether only names that base had are given, as while a runner and its plug-ins are loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: object = None
    ) -> ModuleSpec | None:
        if name in NEVER:
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and found.loader is not None:
            return found
        own = self._in_tree(name)
        if own is not None and own.loader is not None:
            return own
        # A directory that happens to have the name is a package of last resort, as on any import path.
        return (self._in_toolchain(name) if path is None else None) or found or own

    @staticmethod
    def find_distributions(context: Any) -> Iterable[Any]:
        """pytest asks which version of its parts it has. Nobody gets a list: plug-ins come from what is installed."""
        toolchain = os.environ.get("MINION_TOOLCHAIN")
        if not toolchain or context.name not in TOOLCHAIN:
            return ()
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        asked = DistributionFinder.Context(name=context.name, path=[toolchain])
        return MetadataPathFinder.find_distributions(asked)

    def _in_tree(self, name: str) -> ModuleSpec | None:
        tree = os.environ.get("MINION_TREE")
        if not tree or (self.known_only and name.partition(".")[0] not in self._known):
            return None
        return self._placed(tree, name) or self._rooted(tree, name)

    def _placed(self, tree: str, name: str) -> ModuleSpec | None:
        if name not in self._places:
            parent = self._places.get(name.rpartition(".")[0])
            return None if parent is None else PathFinder.find_spec(name, [os.path.join(tree, parent)])
        directory, last = os.path.split(os.path.join(tree, self._places[name]))
        if last.partition(".")[0] == name.rpartition(".")[2]:
            return PathFinder.find_spec(name, [directory])
        return _renamed(name, os.path.join(directory, last))

    def _rooted(self, tree: str, name: str) -> ModuleSpec | None:
        parents = name.split(".")[:-1]
        # A package that is whole elsewhere gets nothing added; parts of a namespace do.
        if parents and getattr(sys.modules.get(".".join(parents)), "__file__", None) is not None:
            return None
        places = [os.path.join(tree, root, *parents) for root in self._roots]
        return PathFinder.find_spec(name, places) if places else None

    @staticmethod
    def _in_toolchain(name: str) -> ModuleSpec | None:
        toolchain = os.environ.get("MINION_TOOLCHAIN")
        return PathFinder.find_spec(name, [toolchain]) if toolchain and name in TOOLCHAIN else None


def _renamed(name: str, directory: str) -> ModuleSpec | None:
    from importlib.util import spec_from_file_location

    init = os.path.join(directory, "__init__.py")
    if not os.path.exists(init):
        return None
    return spec_from_file_location(name, init, submodule_search_locations=[directory])


def install(roots: Sequence[str], places: Mapping[str, str], known: Sequence[str]) -> None:
    """Called by the one line of `_minion_tree.pth` when Python starts."""
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, TreeFinder(roots, places, known))
