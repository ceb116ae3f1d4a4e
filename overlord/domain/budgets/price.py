"""What models cost. Money is counted in whole nano-dollars (10⁻⁹ USD), so that sums are exact and a cap is a cap."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from overlord.domain.budgets.budget import NANO, TokenUsage

Row = TypeVar("Row")
_MILLION = 1_000_000
_BOUNDARIES = "-@:/"
"""What may follow a listed name: `gpt-5-2026-08-07` is priced as `gpt-5`, `gpt-5.9` and `gpt-50` are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Nano-dollars per million tokens: what is sent, the part of it that was cached, what comes back."""

    input_nusd: int
    cached_nusd: int
    output_nusd: int
    cache_write_nusd: int | None = None
    """Of what is written to the provider's cache; None: as what is sent."""

    @classmethod
    def per_million(
        cls,
        *,
        input_usd: float,
        cached_usd: float,
        output_usd: float,
        cache_write_usd: float | None = None,
    ) -> Self:
        """A price as providers publish it."""
        return cls(
            input_nusd=round(input_usd * NANO),
            cached_nusd=round(cached_usd * NANO),
            output_nusd=round(output_usd * NANO),
            cache_write_nusd=None if cache_write_usd is None else round(cache_write_usd * NANO),
        )

    @property
    def input_usd(self) -> float:
        """Per million tokens that are sent."""
        return self.input_nusd / NANO

    @property
    def output_usd(self) -> float:
        """Per million tokens that come back."""
        return self.output_nusd / NANO

    def cost_nusd(self, usage: TokenUsage) -> int:
        """What one exchange costs, rounded up."""
        cached = min(usage.cached, usage.prompt)
        written = min(usage.cache_written, usage.prompt - cached)
        write_nusd = self.input_nusd if self.cache_write_nusd is None else self.cache_write_nusd
        exact = (
            (usage.prompt - cached - written) * self.input_nusd
            + cached * self.cached_nusd
            + written * write_nusd
            + usage.completion * self.output_nusd
        )
        return -(-exact // _MILLION)


def longest(rows: Mapping[str, Row], model: str) -> Row | None:
    """The row of a model: that of the longest listed name which it is or begins with; None when nobody listed it."""
    fitting = [name for name in rows if model == name or _continues(model, name)]
    return rows[max(fitting, key=len)] if fitting else None


def _continues(model: str, name: str) -> bool:
    return model.startswith(name) and model[len(name)] in _BOUNDARIES
