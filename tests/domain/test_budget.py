"""Budgets: what is left is never negative, and a reservation errs on the safe side."""

import json

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budget import Spending, TokenUsage, estimate_tokens

AMOUNT = st.integers(0, 10**9)


@given(AMOUNT, AMOUNT, AMOUNT)
def test_what_is_left_is_never_negative_and_never_more_than_the_limit(
    limit: int, spent: int, reserved: int
) -> None:
    spending = Spending(limit=limit, spent=spent, reserved=reserved)
    assert 0 <= spending.left <= limit
    assert spending.allows(spending.left)
    assert not spending.allows(spending.left + 1)


def test_a_spent_budget_allows_nothing() -> None:
    assert Spending(limit=100, spent=100).is_spent
    assert Spending(limit=100, spent=130).is_spent
    assert not Spending(limit=100, spent=130).allows(1)
    assert not Spending(limit=100, spent=99, reserved=1).is_spent


def test_people_are_told_at_four_fifths() -> None:
    assert [Spending(limit=1000, spent=spent).warns for spent in (799, 800, 1000)] == [False, True, True]


def test_usage_counts_what_was_sent_and_what_came_back() -> None:
    assert TokenUsage(prompt=10, cached=8, completion=5).total == 15


@given(st.integers(0, 10**8))
def test_an_estimate_is_at_least_one_token_and_grows_with_the_text(size: int) -> None:
    assert 1 <= estimate_tokens(size) <= estimate_tokens(size + 3)


@given(st.text())
def test_an_estimate_is_never_below_a_token_for_four_characters(text: str) -> None:
    assert estimate_tokens(len(json.dumps(text).encode())) >= len(text) / 4
