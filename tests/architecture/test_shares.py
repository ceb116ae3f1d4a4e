"""A run that takes a share leaves nothing out for good, and says no to what is no share."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.architecture.test_imports import ROOT
from tests.shares import ALL, Share, parse_share, slow_tests

names = st.sets(st.text("abc[]-", min_size=1, max_size=6), max_size=40)


@given(names, st.integers(1, 9))
def test_all_shares_together_take_everything_and_each_case_once(cases: set[str], size: int) -> None:
    taken = [name for first in range(size) for name in Share(first=first, size=size).of(cases)]
    assert sorted(taken) == sorted(cases)


@given(names, st.integers(0, 8))
def test_a_share_takes_at_least_as_many_as_it_must(cases: set[str], first: int) -> None:
    assert len(Share(first=first, size=9).of(cases, least=1)) >= min(1, len(cases))


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0/6", Share(first=0, size=6)),
        ("5/6", Share(first=5, size=6)),
        ("6/6", Share(first=0, size=6)),
        ("1/1", ALL),
    ],
)
def test_a_share_is_read(text: str, share: Share) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["", "3", "1/0", "-1/6", "a/b", "1/2/3", "²/3"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="a share is k/n"):
        parse_share(text)


def test_every_slow_test_is_there() -> None:
    assert [name for name in slow_tests() if not _is_there(name)] == [], (
        "run `python -m tests.slow` on a new report"
    )


def _is_there(name: str) -> bool:
    module, _, rest = name.partition("::")
    path, function = ROOT / module, rest.partition("[")[0].rpartition("::")[2]
    if not path.is_file():
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(node, functions) and node.name == function
        for node in ast.walk(ast.parse(path.read_bytes()))
    )
