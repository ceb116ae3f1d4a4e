"""Readable in one sitting: how long modules and functions may be, and that a room's sign runs nothing."""

import ast
from pathlib import Path
from statistics import median

from tests.architecture.test_imports import ROOT, modules

SOURCES = [*modules("overlord"), *modules("minion")]
FORBIDDEN_NAMES = {
    "utils",
    "util",
    "helper",
    "helpers",
    "common",
    "base",
    "manager",
    "service",
    "handler",
    "processor",
}


def functions(path: Path) -> list[tuple[str, int]]:
    return [
        (
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}",
            (node.end_lineno or node.lineno) - node.lineno + 1,
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_no_module_is_longer_than_400_lines() -> None:
    assert [str(path) for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []


def test_no_function_is_longer_than_50_lines_and_the_median_is_at_most_10() -> None:
    found = [item for path in SOURCES for item in functions(path)]
    assert [item for item in found if item[1] > 50] == []
    assert median(length for _, length in found) <= 10


def test_the_minions_loop_fits_on_three_screens() -> None:
    assert len((ROOT / "minion" / "native" / "agent.py").read_text(encoding="utf-8").splitlines()) <= 200


def test_a_rooms_sign_is_a_docstring() -> None:
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path} opens without a docstring"
        if path.name == "__init__.py":
            assert len(tree.body) == 1, f"{path} runs something"


def test_modules_are_named_for_what_they_are() -> None:
    assert [str(path) for path in SOURCES if path.stem in FORBIDDEN_NAMES] == []


def test_the_docker_folder_does_not_shadow_the_library() -> None:
    assert list((ROOT / "docker").rglob("*.py")) == []
