"""Prices: money is exact, rounded up once, and a model nobody listed has none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budgets.budget import NANO, TokenUsage
from overlord.domain.budgets.price import Price, longest

PRICE = Price.per_million(input_usd=2.5, cached_usd=0.25, output_usd=15)
TOKENS = st.integers(0, 10**7)


def test_a_million_of_each_costs_what_the_provider_says() -> None:
    usage = TokenUsage(prompt=2_000_000, cached=1_000_000, completion=1_000_000)
    assert PRICE.cost_nusd(usage) == round((2.5 + 0.25 + 15) * NANO)


def test_a_part_of_a_nano_dollar_is_a_whole_one() -> None:
    assert (
        Price.per_million(input_usd=0.0001, cached_usd=0, output_usd=0).cost_nusd(TokenUsage(prompt=1)) == 1
    )


@given(TOKENS, TOKENS, TOKENS)
def test_more_cached_than_sent_is_never_cheaper_than_all_cached(prompt: int, cached: int, out: int) -> None:
    cost = PRICE.cost_nusd(TokenUsage(prompt=prompt, cached=cached, completion=out))
    assert cost >= PRICE.cost_nusd(TokenUsage(prompt=prompt, cached=prompt, completion=out)) >= 0


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-5", "a"),
        ("gpt-5-2026-08-07", "a"),
        ("gpt-5-mini", "b"),
        ("gpt-5-mini@eu", "b"),
        ("gpt-5.9", None),
        ("gpt-50", None),
        ("llama", None),
        ("gpt", None),
    ],
)
def test_the_longest_name_counts_and_ends_where_a_name_ends(model: str, found: str | None) -> None:
    assert longest({"gpt-5": "a", "gpt-5-mini": "b"}, model) == found
