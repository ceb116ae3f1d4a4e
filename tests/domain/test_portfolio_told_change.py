"""How the ledger tells what was changed of an initiative or a task."""

import pytest

from overlord.domain.portfolio.told_change import told_change


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("nusd_budget", 20_000_000_000, "budget: $20.00"),
        ("nusd_budget", None, "budget: as the settings say"),
        ("token_budget", 500_000, "budget in tokens: 500,000"),
        ("plan_digest", "736799c552634e78", "plan: as it was approved"),
        ("paths", ("src/**", "tests/**"), "paths: src/**, tests/**"),
        ("paths", (), "paths: none"),
        (
            "acceptance_criteria",
            ("It adds.", "It\nis tested."),
            "acceptance criteria: It adds.; It is tested.",
        ),
        ("title", "x" * 200, f"title: {'x' * 79}…"),
        ("is_quiet", True, "is quiet: True"),
    ],
)
def test_a_change_is_told_in_words(name: str, value: object, told: str) -> None:
    assert told_change(name, value) == told
