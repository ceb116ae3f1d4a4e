"""Which changes need no proof: paths and syntax decide, and whatever is not certain is a change of behaviour."""

import pytest

from overlord.domain.checks.behaviour import exemption
from overlord.domain.checks.testcode.compare import Source
from overlord.domain.scope.check import Change

CODE = '"""Adds."""\nimport os\n\nRATE = 2\n\n\ndef total(items):\n    """Sum."""\n    return sum(items) * RATE\n\n\ndef largest(items):\n    return max(items)\n'


def exempt(*files: tuple[str, str | None, str | None], title: str = "Fix it") -> str:
    changes, sources = [], []
    for path, before, after in files:
        status = "A" if before is None else "D" if after is None else "M"
        changes.append(Change(path=path, status=status))
        sides = [text.encode() if text is not None else None for text in (before, after)]
        sources.append(Source(path=path, before=sides[0], after=sides[1]))
    return exemption(changes, sources, title)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/guide.rst",
        "CHANGELOG",
        "LICENSE",
        "pyproject.toml",
        ".github/workflows/ci.yml",
        "logo.svg",
        "app.css",
    ],
)
def test_documents_and_configuration_need_none(path: str) -> None:
    assert exempt((path, "a\n", "b\n")) == "only documentation or configuration is changed"
    assert exempt((path, "a\n", "b\n"), ("calc.py", CODE, CODE.replace("sum", "max"))) == ""


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (CODE.replace("return sum(items) * RATE", "return (  # all\n        sum(items) * RATE\n    )"), ""),
        (CODE.replace("    return sum", "    # all of them\n    return sum"), "only layout"),
        (CODE.replace('"""Sum."""', '"""The sum of all."""'), "only layout"),
        (CODE.replace("def total(items):", "def total(items: list[int]) -> int:"), "only layout"),
        (CODE.replace("total", "sum_of"), "names are changed"),
        (CODE.replace("sum(items)", "min(items)"), ""),
        (CODE.replace("max", "min"), ""),
        (CODE.replace("RATE = 2", "RATE = 3"), ""),
        (CODE.replace("* RATE", "+ RATE"), ""),
        (CODE.replace("(items) *", "(items[1:]) *"), ""),
        ("def (", ""),
    ],
)
def test_code_that_does_the_same_needs_none(after: str, why: str) -> None:
    assert exempt(("calc.py", CODE, after)).startswith(why)
    assert bool(exempt(("calc.py", CODE, after))) is bool(why)


def test_moved_definitions_need_none() -> None:
    head, _, tail = CODE.partition("\n\ndef largest")
    moved = f"def largest{tail}"
    assert (
        exempt(("calc.py", CODE, head), ("big.py", None, moved)) == "definitions are moved, and nothing else"
    )
    assert exempt(("calc.py", CODE, head), ("big.py", None, moved.replace("max", "min"))) == ""
    assert exempt(("calc.py", CODE, head)) == ""


def test_tests_alone_prove_nothing_unless_they_were_asked_for() -> None:
    test = ("tests/test_calc.py", None, "def test_total():\n    assert 1\n")
    assert exempt(test) == ""
    assert exempt(test, title="Add tests for total()") == "the issue asks for tests"
    assert exempt(test, ("calc.py", CODE, CODE.replace("sum", "max")), title="Add tests for total()") == ""


def test_other_languages_are_compared_alike() -> None:
    before = "export function total(a, b) {\n  return a + b; // sum\n}\n"
    assert exempt(("calc.ts", before, before.replace(" // sum", ""))).startswith("only layout")
    assert exempt(("calc.ts", before, before.replace("(a, b)", "(a: number, b: number): number"))).startswith(
        "only layout"
    )
    assert exempt(("calc.ts", before, before.replace("+", "-"))) == ""
    assert exempt(("calc.rb", "a\n", "a # b\n")) == ""


@pytest.mark.parametrize("path", ["history.py", "app/news.js", "authors.go", "docs/tool.py"])
def test_a_program_is_one_whatever_it_is_called(path: str) -> None:
    assert exempt((path, "a = 1\n", "a = 2\n")) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from a import total\n\n\ndef f():\n    return total()\n",
            "from b import total\n\n\ndef f():\n    return total()\n",
        ),
        ("@dataclass\nclass Order:\n    price: int\n", "@dataclass\nclass Order:\n    price: str\n"),
        ("app.use(one)\napp.use(two)\n", "app.use(two)\napp.use(one)\n"),
    ],
    ids=["another import", "another field", "another order"],
)
def test_what_may_matter_is_no_exemption(before: str, after: str) -> None:
    assert exempt(("calc.py", before, after)) == ""
