"""pytest that a file in the tree cannot stand in for, and that vouches for what it reports.

Run as a script with `-S -E`, the results' directory and pytest's own words. Before anything that is installed can run,
the key in the directory is read and removed; then what Python does at its start is made up for, without the tree on
the import path, so a `pytest.py`, `_pytest/` or `sitecustomize.py` in it is never imported in their place; then the tree
comes first, as tests expect. The report is sealed with the key at the very end, so that whoever leaves early leaves
nothing to believe. Runs on the repository's own Python, from 3.8 on.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this script's directory, which Python before 3.11 always puts there

import hmac
import json
import os
import site
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


class TreeOnPath:
    """Puts the tree's root (and `src/`) on the import path once every plugin is there; `finder` is the environment's."""

    def __init__(self, root: Path, finder: Any) -> None:
        self._places = [str(place) for place in (root, root / "src") if place.is_dir()]
        self._finder = finder

    def pytest_load_initial_conftests(self) -> None:
        given = os.environ.get("PYTHONPATH", "")
        sys.path[:0] = [*self._places, *(place for place in given.split(os.pathsep) if place)]
        if self._finder is not None:
            self._finder.known_only = False


class Failures:
    """Remembers the tests that failed; given `only`, the names of some, lets no others run."""

    def __init__(self, only: Sequence[str] | None) -> None:
        self._only = None if only is None else frozenset(only)
        self.names: dict[str, None] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._only is not None:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._only])
            items[:] = [item for item in items if item.nodeid in self._only]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None


def start_python() -> Any:
    """What `-S` left out; returns the finder of the environment's tree, if there is one."""
    site.main()
    # Programs copy these flags to interpreters they start; for those the tree may come as it likes.
    flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if not name.startswith(("_", "n_"))}
    vars(sys)["flags"] = SimpleNamespace(**{**flags, "no_site": 0, "ignore_environment": 0})
    finder = next((one for one in sys.meta_path if hasattr(one, "known_only")), None)
    if finder is not None:
        finder.known_only = True
    return finder


def run_pytest(words: Sequence[str], failures: Failures, finder: Any) -> int:
    import pytest

    tree = TreeOnPath(Path.cwd(), finder)
    pytest.hookimpl(tryfirst=True)(TreeOnPath.pytest_load_initial_conftests)
    pytest.hookimpl(trylast=True)(Failures.pytest_collection_modifyitems)
    return int(pytest.main(list(words), plugins=[tree, failures]))


def main(results: Path, words: Sequence[str]) -> int:
    key = bytes.fromhex((results / "key").read_text())
    (results / "key").unlink()
    chosen = results / "only"
    failures = Failures(json.loads(chosen.read_text()) if chosen.exists() else None)
    code = run_pytest(words, failures, start_python())
    failed = json.dumps(list(failures.names)).encode()
    (results / "failed").write_bytes(failed)
    report = results / "junit.xml"
    junit = report.read_bytes() if report.exists() else b""
    # As `minion/results.py` does: this script cannot count on finding the package it is part of.
    told = f"{code} {sha256(junit).hexdigest()} {sha256(failed).hexdigest()}"
    (results / "seal").write_text(hmac.new(key, told.encode(), "sha256").hexdigest())
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
