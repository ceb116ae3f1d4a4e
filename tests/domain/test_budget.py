"""Budgets: what is left is never negative, and a reservation errs on the safe side."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budgets.budget import (
    NANO,
    Amount,
    Budget,
    Cost,
    Per,
    Spending,
    TokenUsage,
    Unit,
    amount_text,
    cost_text,
    estimate_tokens,
    parse_amount,
    usd_text,
)

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


def test_what_is_only_reserved_may_become_free_again() -> None:
    busy = Spending(limit=100, spent=10, reserved=80)
    assert (busy.allows(20), busy.may_allow(20), busy.may_allow(91)) == (False, True, False)


def test_a_model_without_a_price_takes_nothing_from_money() -> None:
    assert (
        Cost(tokens=5).of(Unit.USD),
        Cost(tokens=5, nusd=7).of(Unit.USD),
        Cost(tokens=5).of(Unit.TOKENS),
    ) == (
        0,
        7,
        5,
    )


def test_a_budget_is_named_as_in_the_settings_and_told_in_words() -> None:
    tokens = Budget(per=Per.SESSION, unit=Unit.TOKENS, limit=2_000_000)
    dollars = Budget(per=Per.SPACE_DAY, unit=Unit.USD, limit=5 * NANO // 2)
    assert (tokens.name, tokens.amount) == ("session_tokens", "2000000")
    assert (dollars.name, dollars.amount) == ("space_day_usd", "$2.5")
    assert tokens.describe() == "this session's budget (2,000,000 tokens)"
    assert dollars.describe() == "today's budget of this repository ($2.50)"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("500000", Unit.TOKENS, 500_000),
        ("+500_000 tokens", Unit.TOKENS, 500_000),
        ("500k", Unit.TOKENS, 500_000),
        ("2M", Unit.TOKENS, 2_000_000),
        ("$2", Unit.USD, 2 * NANO),
        (" + $1,000.50 ", Unit.USD, 1000 * NANO + NANO // 2),
        ("$0.000000001", Unit.USD, 1),
    ],
)
def test_amounts_are_read_as_people_type_them(text: str, unit: Unit, value: int) -> None:
    assert parse_amount(text) == Amount(unit=unit, value=value)


@pytest.mark.parametrize(
    "text", ["", "0", "$0", "-5", "much", "2 $", "$", "1e9", "9" * 30, "$" + "9" * 30, "$1.0000000001"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"amount|neither"):
        parse_amount(text)


@given(st.sampled_from(Unit), st.integers(1, 10**15))
def test_an_amount_is_read_back_as_it_is_written(unit: Unit, value: int) -> None:
    amount = Amount(unit=unit, value=value)
    assert parse_amount(amount_text(amount)) == amount


def test_money_is_told_in_cents_and_below_a_dollar_finer() -> None:
    assert [usd_text(value) for value in (0, 12_340_000, NANO, 1234 * NANO)] == [
        "$0.00",
        "$0.0123",
        "$1.00",
        "$1,234.00",
    ]


def test_a_cost_is_told_with_its_money_where_there_is_any() -> None:
    assert cost_text(Cost(tokens=1200)) == "1,200 tokens"
    assert cost_text(Cost(tokens=1200, nusd=2 * NANO)) == "1,200 tokens for $2.00"
