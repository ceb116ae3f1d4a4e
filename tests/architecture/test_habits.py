"""Habits that a test can see: no mocks, no sleeping tests, broad excepts only where they belong, patterns that mean one thing."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.architecture.test_imports import ROOT, modules

TESTS = sorted((ROOT / "tests").rglob("*.py"))
PROGRAMS = {ROOT / "tests" / "faults" / "player.py"}
"""Run by tests in processes of their own, where they wait for others as any program does."""
BROAD = {"overlord/engine/tick.py": 1, "overlord/app.py": 1, "minion/__main__.py": 1}
"""The tick, the daemon's side-task monitor, the Minion's outermost frame: each writes an event."""


def sleeps(path: Path) -> bool:
    """Whether a test waits for time; `asyncio.sleep(0)` only lets others run."""
    calls = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    )
    return any(
        ast.unparse(call.func) in {"time.sleep", "asyncio.sleep"} and ast.unparse(call.args[0]) != "0"
        for call in calls
    )


def test_nothing_is_mocked() -> None:
    pattern = re.compile(r"unittest\.mock|from mock|MagicMock|mocker\b|monkeypatch\.setattr")
    own = Path(__file__)
    assert [
        str(path) for path in TESTS if path != own and pattern.search(path.read_text(encoding="utf-8"))
    ] == []


def test_no_test_sleeps() -> None:
    assert [str(path) for path in TESTS if sleeps(path) and path not in PROGRAMS] == []


def test_broad_excepts_stand_in_three_places() -> None:
    found: Counter[str] = Counter()
    for path in [*modules("overlord"), *modules("minion")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or ast.unparse(node.type) == "Exception"
            ):
                found[path.relative_to(ROOT).as_posix()] += 1
    assert dict(found) == BROAD


def test_nothing_is_left_undone() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX)\b|NotImplementedError")
    sources = [*modules("overlord"), *modules("minion")]
    assert [str(path) for path in sources if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 that does not match all it should (CPython's gh-106052); `(?>(?:...)*)` says the same and does."""
    possessive = re.compile(r"\)(?:[?*+]|\{[\d,]*\})\+")
    assert [
        f"{path}:{number}"
        for package in ("overlord", "minion")
        for path in modules(package)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if possessive.search(line)
    ] == []
