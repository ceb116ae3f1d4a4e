"""pytest that a file in the tree cannot stand in for.

Run as a script with `-P`: the tree is not on the import path while pytest and its plugins are loaded, so a
`pytest.py`, `_pytest/` or `sitecustomize.py` in it is never imported in their place; then the tree comes first, as
tests expect.
"""

import sys
from pathlib import Path

import pytest


class TreeOnPath:
    """Puts the tree's root (and `src/`) on the import path once every plugin is there."""

    def __init__(self, root: Path) -> None:
        self._places = [str(place) for place in (root, root / "src") if place.is_dir()]

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        sys.path[:0] = self._places


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:], plugins=[TreeOnPath(Path.cwd())]))
