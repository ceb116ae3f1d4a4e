"""pytest that a file in the tree cannot stand in for, and that vouches for what it reports.

Run as a script with `-P`, the results' directory and pytest's own words: the tree is not on the import path while
pytest and its plugins are loaded, so a `pytest.py`, `_pytest/` or `sitecustomize.py` in it is never imported in their
place; then the tree comes first, as tests expect. The key in the directory is read and removed before anything of the
tree runs; the report is sealed with it at the very end, so that whoever leaves early leaves nothing to believe.
"""

import hmac
import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest


class TreeOnPath:
    """Puts the tree's root (and `src/`) on the import path once every plugin is there."""

    def __init__(self, root: Path) -> None:
        self._places = [str(place) for place in (root, root / "src") if place.is_dir()]

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        sys.path[:0] = self._places


class Failures:
    """Remembers the tests that failed; given `only`, the names of some, lets no others run."""

    def __init__(self, only: Sequence[str] | None) -> None:
        self._only = None if only is None else frozenset(only)
        self.names: dict[str, None] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._only is not None:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._only])
            items[:] = [item for item in items if item.nodeid in self._only]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None


def main(results: Path, words: Sequence[str]) -> int:
    key = bytes.fromhex((results / "key").read_text())
    (results / "key").unlink()
    chosen = results / "only"
    failures = Failures(json.loads(chosen.read_text()) if chosen.exists() else None)
    code = int(pytest.main(list(words), plugins=[TreeOnPath(Path.cwd()), failures]))
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
