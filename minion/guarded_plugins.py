"""The guarded pytest's own plug-ins, loaded by it before anything of the tree is. From Python 3.8 and pytest 7 on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOST_CHARS = 2000
"""Of what a test says; the judge reads no more."""


class TreeOnPath:
    """Puts the tree's root (and `src/`) on the import path once every plugin is there; `finder` is the environment's."""

    def __init__(self, root: Path, finder: Any) -> None:
        self._places = [str(place) for place in (root, root / "src") if place.is_dir()]
        self._finder = finder

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        given = os.environ.get("PYTHONPATH", "")
        sys.path[:0] = [*self._places, *(place for place in given.split(os.pathsep) if place)]
        if self._finder is not None:
            self._finder.known_only = False


class Reporter:
    """Tells each outcome as it is logged; given `only`, the names of some tests, lets no others run."""

    def __init__(self, tell: Callable[..., None], only: Sequence[str] | None, controls: Any) -> None:
        self._tell = tell
        self._only = None if only is None else frozenset(only)
        self._controls = controls

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        # pytest-xdist's workers would load none of these plug-ins: what it asks for is run here instead, as with `-n0`.
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses, config.option.dist, config.option.tx = 0, "no", []

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._controls.note(item)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._only is not None:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._only])
            items[:] = [item for item in items if item.nodeid in self._only]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._controls.begin(session)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self._told(report, when="collect")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self._told(report, when=str(report.when))

    def pytest_internalerror(self, excrepr: object) -> None:
        text = str(excrepr)[-MOST_CHARS:]
        self._tell(
            id="pytest::internal", when="collect", outcome="failed", message="internal error", text=text
        )

    def _told(self, report: Any, when: str) -> None:
        is_expected = hasattr(report, "wasxfail")
        control, reason = getattr(report, "guard_control", ("", ""))
        self._tell(
            id=report.nodeid,
            when=when,
            outcome="skipped" if is_expected and report.failed else report.outcome,
            control=control,
            reason=reason,
            file=report.location[0] or "",
            message="" if report.passed else _message(report)[:MOST_CHARS],
            text=report.longreprtext[-MOST_CHARS:] if report.failed else "",
        )


def _message(report: Any) -> str:
    """What a test says for itself in a line or some."""
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return str(report.wasxfail)
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        return str(said).partition("Skipped: ")[2] or str(said)
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)
