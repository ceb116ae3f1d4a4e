"""The guarded pytest's own plug-ins, loaded by it before anything of the tree is. From Python 3.8 and pytest 7 on."""

from __future__ import annotations

import dis
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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
        python_path = os.environ.get("PYTHONPATH", "")
        sys.path[:0] = [*self._places, *(place for place in python_path.split(os.pathsep) if place)]
        if self._finder is not None:
            self._finder.known_only = False


class Touched:
    """Sees whether a test calls a function that holds a changed line: what is `watched`, as `calc.py:10-14`.

    A test that turns this off is said to: whoever hides what it runs is no better off.
    """

    def __init__(self, root: Path, watched: Sequence[str]) -> None:
        self._lines: dict[str, list[tuple[int, int]]] = {}
        for one in watched:
            path, _, span = one.rpartition(":")
            first, _, last = span.partition("-")
            self._lines.setdefault(str(root / path), []).append((int(first), int(last or first)))
        self._known: dict[Any, bool] = {}
        self._tracer = self._called
        self.seen = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self.seen = False
        yield from self._watching()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        yield from self._watching()

    @property
    def word(self) -> str:
        """`yes` or `no`, or nothing where nobody looked."""
        return "" if not self._lines else "yes" if self.seen else "no"

    def _watching(self) -> Iterator[None]:
        if not self._lines:
            yield
            return
        threading.settrace(self._tracer)
        sys.settrace(self._tracer)
        yield
        if sys.gettrace() is not self._tracer:
            self.seen = True
        sys.settrace(None)
        threading.settrace(None)

    def _called(self, frame: Any, _event: str, _argument: object) -> None:
        code = frame.f_code
        holds = self._known.get(code)
        if holds is None:
            spans = self._lines.get(code.co_filename, ())
            first = code.co_firstlineno
            last = max((line for _, line in dis.findlinestarts(code) if line), default=first)
            # What a module's or a class's own lines do is done when it is imported, whoever does that.
            is_function = not code.co_name.startswith("<module") and bool(code.co_flags & 2)
            holds = self._known[code] = is_function and any(
                first <= end and last >= start for start, end in spans
            )
        if holds:
            self.seen = True


class Reporter:
    """Tells each outcome as it is logged; given `only`, the names of some tests, lets no others run."""

    def __init__(
        self, report_line: Callable[..., None], only: Sequence[str] | None, controls: Any, touched: Touched
    ) -> None:
        self._tell = report_line
        self._touched = touched
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
            self._reported(report, when="collect")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self._reported(report, when=str(report.when))

    def pytest_internalerror(self, excrepr: object) -> None:
        text = str(excrepr)[-MOST_CHARS:]
        self._tell(
            id="pytest::internal", when="collect", outcome="failed", message="internal error", text=text
        )

    def _reported(self, report: Any, when: str) -> None:
        is_expected = hasattr(report, "wasxfail")
        control, reason = getattr(report, "guard_control", ("", ""))
        self._tell(
            id=report.nodeid,
            when=when,
            outcome="skipped" if is_expected and report.failed else report.outcome,
            control=control,
            reason=reason,
            file=report.location[0] or "",
            touches=self._touched.word if when == "call" else "",
            message="" if report.passed else _report_message(report)[:MOST_CHARS],
            text=report.longreprtext[-MOST_CHARS:] if report.failed else "",
        )


def _report_message(report: Any) -> str:
    """What a test says for itself in a line or some."""
    if report.skipped:
        if hasattr(report, "wasxfail"):
            return str(report.wasxfail)
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        return str(text).partition("Skipped: ")[2] or str(text)
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)
