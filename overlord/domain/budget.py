"""What a session may spend, and what a request will cost at most. Reserve before, settle after; spend never falls."""

from dataclasses import dataclass

WARN_AT = 0.8
"""The share of a budget at which people are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one exchange with a model, as its endpoint counted them."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Where one budget stands."""

    limit: int
    spent: int
    reserved: int = 0

    @property
    def left(self) -> int:
        return max(0, self.limit - self.spent - self.reserved)

    def allows(self, amount: int) -> bool:
        """Whether `amount` may be reserved now."""
        return amount <= self.left

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit

    @property
    def warns(self) -> bool:
        return self.spent >= self.limit * WARN_AT


def estimate_tokens(text_bytes: int) -> int:
    """At most this many tokens for so many bytes of JSON. Three bytes a token is below every tokenizer's average for
    English and code, so a reservation errs on the safe side."""
    return text_bytes // 3 + 1
