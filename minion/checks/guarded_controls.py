"""Controls: that a test passes is believed when the same test with a body that must fail does not pass.

The code under test runs in pytest's process, and it can make every report say "passed": with another function in
`_pytest`, a hook, an assertion rewriter that drops assertions, a wrapper around tests that keeps their exceptions. What
it changed holds for a control too. When a test has passed, and before its fixtures are taken down, its function is given
another code for once, which does nothing but fail, and is called and reported on the same way. Nothing of it is logged.
It is invisible to honest suites: no test's body runs twice, no fixture is made again, and hooks of plug-ins and conftests,
which may count failures or take pictures of them, are not called. The Minion says which tests get one, and the reason to fail,
when they have passed.
From Python 3.8 and pytest 7 on.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

CALLED = frozenset({"_pytest.runner", "_pytest.skipping", "_pytest.unittest"})
"""Of the plug-ins that are installed, those a control needs."""
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_REASON = "because"
"""Stands in the failing code for the reason that is given later."""
_REWRITTEN = "@pytest_ar"
"""What assertions that pytest rewrote look for among their module's names."""


class _ControlledTest(NamedTuple):
    function: FunctionType
    code: CodeType


class Controls:
    """Notes tests' functions as they are collected, and is a plug-in once all are."""

    def __init__(self, channel: Any, directory: Path, root: Path) -> None:
        self._channel = channel
        self._directory = directory
        self._root = root
        self._noted: dict[Any, _ControlledTest] = {}
        self._is_calling = False

    def note(self, item: Any) -> None:
        """Only functions that stand in the test's own file as they are: what a decorator would do cannot be known."""
        owner = getattr(item, "cls", None) or getattr(item, "module", None)
        function = getattr(owner, getattr(item, "originalname", None) or item.name, None)
        if not isinstance(function, FunctionType) or function.__code__.co_freevars:
            return
        if function.__code__.co_flags & _GENERATOR:
            return
        if _is_same(function.__code__.co_filename, str(item.path)):
            self._noted[item] = _ControlledTest(function, function.__code__)

    def begin(self, session: pytest.Session) -> None:
        tests = sum(item in self._noted for item in session.items)
        self._channel.send(tests=tests)
        if tests:
            self._failing = self._made()
        self._plugins = session.config.pluginmanager
        # Registered last, it is around whatever else has something to say about a report.
        self._plugins.register(self)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        self._is_calling = True
        yield
        self._is_calling = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        report = (yield).get_result()
        if call.when == "call" and report.passed:
            report.guard_control = self._control(item)

    def _control(self, item: Any) -> tuple[str, str]:
        """The outcome of a test with a body that must fail, and what it says; nothing if it is not asked for.

        The Minion believes in no pass that it is not asked about. A subtest's comes while its test is being called.
        """
        noted = None if self._is_calling else self._noted.get(item)
        reason = self._channel.ask(passed=item.nodeid, able=noted is not None)
        if noted is None or not reason:
            return "", ""
        function, code = noted
        if function.__code__ is not code:
            return "replaced", ""
        is_async = bool(code.co_flags & inspect.CO_COROUTINE)
        failing = self._failing[_REWRITTEN in function.__globals__, is_async]
        constants = tuple(reason if value == _REASON else value for value in failing.co_consts)
        style, item.config.option.tbstyle = item.config.option.tbstyle, "line"  # nobody reads more
        try:
            function.__code__ = failing.replace(co_consts=constants)
            with _without_its_setup(item):
                call = pytest.CallInfo.from_call(lambda: self._hook("pytest_runtest_call")(item=item), "call")
            report = self._hook("pytest_runtest_makereport")(item=item, call=call)
            return str(report.outcome), str(report.longrepr)[-500:]
        finally:
            function.__code__ = code
            item.config.option.tbstyle = style

    def _hook(self, name: str) -> Any:
        known = [found.plugin for found in getattr(self._plugins.hook, name).get_hookimpls()]
        return self._plugins.subset_hook_caller(name, [plugin for plugin in known if self._is_silent(plugin)])

    def _is_silent(self, plugin: object) -> bool:
        """Whether it came with the repository's tests or is installed; not what code under test may have added."""
        if plugin is self:
            return True
        name = plugin.__name__ if inspect.ismodule(plugin) else getattr(plugin, "__module__", "")
        if name in CALLED:
            return False
        file = getattr(sys.modules.get(name), "__file__", None)
        return file is not None and (self._root not in Path(file).parents or Path(file).name == "conftest.py")

    def _made(self) -> dict[tuple[bool, bool], CodeType]:
        """Functions' code that only fails, by whether it is rewritten and a coroutine's.

        It is imported and rewritten as tests are, and compiled as it stands for those that are not.
        """
        name = f"test_{os.urandom(8).hex()}"
        body = f"(*_, **__):\n    assert {name!r} == {name[:-1]!r}, {_REASON!r}\n"
        source = f"def plain{body}\nasync def coroutine{body}"
        file = self._directory / f"{name}.py"
        file.write_text(source)
        pytest.register_assert_rewrite(name)
        sys.path.insert(0, str(self._directory))
        try:
            rewritten = vars(importlib.import_module(name))
        finally:
            sys.path.remove(str(self._directory))
            sys.modules.pop(name, None)
        plain: dict[str, Any] = {}
        exec(compile(source, str(file), "exec"), plain)  # noqa: S102 - the lines above
        kinds = {False: "plain", True: "coroutine"}
        spaces = {False: plain, True: rewritten}
        return {(made, kind): spaces[made][kinds[kind]].__code__ for made in spaces for kind in kinds}


def _is_same(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def _without_its_setup(item: Any) -> Iterator[None]:
    """A unittest case is called without what it does before and after its test."""
    is_unittest = hasattr(item, "_excinfo")
    case = (getattr(item, "_testcase", None) or item.instance) if is_unittest else None
    names = ("setUp", "tearDown", "asyncSetUp", "asyncTearDown") if is_unittest else ()
    for name in names:
        setattr(case, name, lambda: None)
    try:
        yield
    finally:
        for name in names:
            delattr(case, name)
