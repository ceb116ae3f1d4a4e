"""What a setup session made for a repository, as the sessions that run in it use it: programs, variables, and files
that no commit holds.

The tree such files are laid into is a stranger's: nothing of it is replaced, and no link in it is followed. The record
is the setup's last word; without one there is no environment.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePosixPath

from minion.encoding import decode
from minion.errors import BadStart

RECORD = "environment.json"
OVERLAY = "overlay"
VENV = "venv"
_SESSIONS_OWN = ("HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT")
_OFFLINE = {"UV_OFFLINE": "1", "UV_NO_SYNC": "1", "UV_PYTHON_DOWNLOADS": "never"}
"""There is no network, and the environment is not the session's to change: uv need not find out by trying."""


class Kind(StrEnum):
    """How something of the overlay comes into a tree."""

    COPIED = "copied"
    LINKED = "linked"
    SPREAD = "spread"
    """A directory of its own with a link for each thing in it: packages link back into the tree, tools write caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayEntry:
    """A file or directory that setup left beside what is tracked, kept at the same path under `overlay/`."""

    path: str
    kind: Kind
    spread: tuple[str, ...] = ()
    """Directories in it that are spread too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """The Python of the virtual environment."""

    version: tuple[int, ...]
    runs_pytest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What `environment.json` holds."""

    variables: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    """Where in a tree the packages are that were installed editable."""
    overlay: tuple[OverlayEntry, ...] = ()
    python: Interpreter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment that is ready to be used."""

    directory: Path
    record: Record

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Environment | None":
        """The one `MINION_ENVIRONMENT` names, if any. Raises BadStart when there is none at that place."""
        place = values.get("MINION_ENVIRONMENT")
        return _read_record(Path(place)) if place else None

    @property
    def python(self) -> Path | None:
        """The interpreter that has the repository's dependencies."""
        return None if self.record.python is None else self.directory / VENV / "bin" / "python"

    @property
    def python_version(self) -> tuple[int, ...]:
        return () if self.record.python is None else self.record.python.version

    @property
    def runs_pytest(self) -> bool:
        return self.record.python is not None and self.record.python.runs_pytest

    def variables(self) -> dict[str, str]:
        """What commands are given beside PATH."""
        return {
            **_OFFLINE,
            **expanded(self.record.variables, self.directory),
            "MINION_ENVIRONMENT": str(self.directory),
            **toolchain(),
        }

    def path(self) -> tuple[str, ...]:
        """Where its programs are, first one first."""
        return places(self.record.path, self.directory)

    def around(self, plain: Mapping[str, str], tree: Path | None) -> dict[str, str]:
        """Variables for a command in this environment: `plain` ones, and its own. Its Python finds packages in `tree`."""
        own = {name: plain[name] for name in _SESSIONS_OWN if name in plain}
        data = {**plain, **self.variables(), **own}
        data["PATH"] = os.pathsep.join((*self.path(), plain["PATH"]))
        return data if tree is None else {**data, "MINION_TREE": str(tree)}

    def lay_over(self, tree: Path, *, but: Callable[[str], bool] | None = None) -> tuple[str, ...]:
        """Put what setup left into a fresh checkout, where nothing is yet, `but` some; patterns for `info/exclude` that name it."""
        wanted = [kept for kept in self.record.overlay if but is None or not but(kept.path)]
        laid = [kept for kept in wanted if self._lay(kept, tree)]
        return tuple(_pattern(kept.path) for kept in laid)

    def _lay(self, kept: OverlayEntry, tree: Path) -> bool:
        source = self.directory / OVERLAY / kept.path
        target = _free(tree, kept.path)
        if target is None:
            return False
        if kept.kind is Kind.SPREAD:
            _spread(source, target, kept.path, frozenset(kept.spread))
        elif kept.kind is Kind.LINKED:
            target.symlink_to(source)
        else:
            _copy(source, target)
        return True


@cache
def _read_record(directory: Path) -> Environment:
    try:
        record = decode(Record, (directory / RECORD).read_bytes())
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadStart(f"MINION_ENVIRONMENT names no finished environment: {error}") from None
    return Environment(directory=directory, record=record)


def expanded(variables: tuple[tuple[str, str], ...], directory: Path) -> dict[str, str]:
    """Variables with `{environment}` replaced."""
    return {name: value.replace("{environment}", str(directory)) for name, value in variables}


def places(path: tuple[str, ...], directory: Path) -> tuple[str, ...]:
    """The directories of a search path, the virtual environment's among them if there is one."""
    named = [str(directory / place.replace("{environment}", str(directory))) for place in path]
    programs = directory / VENV / "bin"
    if programs.is_dir() and str(programs) not in named:
        named.append(str(programs))
    return tuple(named)


def toolchain() -> dict[str, str]:
    """Where an environment's Python finds pytest if the repository brings none: beside this very program's."""
    from importlib.util import find_spec

    found = find_spec("pytest")
    return (
        {} if found is None or not found.origin else {"MINION_TOOLCHAIN": str(Path(found.origin).parents[1])}
    )


def _free(tree: Path, name: str) -> Path | None:
    """The place in the tree for something new, unless it is taken, gone with its directory, or behind a link."""
    *parents, last = PurePosixPath(name).parts
    place = tree
    for part in parents:
        place /= part
        if place.is_symlink() or not place.is_dir():
            return None
    target = place / last
    return None if os.path.lexists(target) else target


def _spread(source: Path, target: Path, name: str, spread: frozenset[str]) -> None:
    target.mkdir()
    for entry in os.scandir(source):
        below = f"{name}/{entry.name}"
        if entry.is_symlink():
            (target / entry.name).symlink_to(Path(entry.path).readlink())
        elif below in spread:
            _spread(Path(entry.path), target / entry.name, below, spread)
        else:
            (target / entry.name).symlink_to(entry.path)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _pattern(name: str) -> str:
    """A line of `info/exclude` that means exactly this path."""
    return "/" + re.sub(r"([\\*?\[\] ])", r"\\\1", name)
