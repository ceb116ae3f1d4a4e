"""A changed column of an initiative or a task, as the ledger tells it: in the words in which people change it."""

from collections.abc import Mapping

from overlord.domain.budgets.budget import usd_text

MOST_SHOWN = 80
_NAMES: Mapping[str, str] = {
    "acceptance_criteria": "acceptance criteria",
    "nusd_budget": "budget",
    "plan_digest": "plan",
    "replan": "to plan again",
    "token_budget": "budget in tokens",
}


def told_change(name: str, value: object) -> str:
    """As `budget: $20.00`, `paths: src/**, tests/**`, `state: paused`."""
    text = " ".join(_value(name, value).split())
    short = text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
    return f"{_NAMES.get(name, name.replace('_', ' '))}: {short}"


def _value(name: str, value: object) -> str:
    if name in {"nusd_budget", "token_budget"} and value is None:
        return "as the settings say"
    if value is None or value in ("", ()):
        return "none"
    if name == "plan_digest":
        return "as it was approved"
    if name == "nusd_budget" and isinstance(value, int):
        return usd_text(value)
    if isinstance(value, tuple | list):
        return ("; " if name == "acceptance_criteria" else ", ").join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
