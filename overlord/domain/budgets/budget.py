"""What may be spent, in tokens and in money, and what a request will cost at most. Reserve before, settle after; spend
never falls. Money is in whole nano-dollars.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

NANO = 1_000_000_000
"""Nano-dollars in a dollar."""
WARN_AT = 0.8
"""The share of a budget at which people are told."""
MAX_AMOUNT = 10**15
"""More than this, of tokens or nano-dollars, is a slip of the finger."""


class Unit(StrEnum):
    """What a budget counts."""

    TOKENS = "tokens"
    USD = "usd"


class Per(StrEnum):
    """Over what a budget is counted. Days are those of UTC."""

    SESSION = "session"
    JOB = "job"
    SPACE_DAY = "space_day"
    DAY = "day"


_WHOSE = {
    Per.SESSION: "this session's budget",
    Per.JOB: "this job's budget",
    Per.SPACE_DAY: "today's budget of this repository",
    Per.DAY: "today's budget",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One cap: `limit` tokens or nano-dollars."""

    per: Per
    unit: Unit
    limit: int

    @property
    def name(self) -> str:
        """Its key in the settings: `job_usd`."""
        return f"{self.per}_{self.unit}"

    @property
    def amount(self) -> str:
        """The limit as a person types it: `500000`, `$2`."""
        return amount_text(Amount(unit=self.unit, value=self.limit))

    def describe(self) -> str:
        """A phrase for people: `this job's budget ($2.00)`."""
        limit = usd_text(self.limit) if self.unit is Unit.USD else f"{self.limit:,} tokens"
        return f"{_WHOSE[self.per]} ({limit})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one exchange with a model, as its endpoint counted them."""

    prompt: int = 0
    """All that was sent, with what its cache had and what was written there."""
    cached: int = 0
    """The part of it that was read from the provider's cache."""
    completion: int = 0
    cache_written: int = 0
    """The part of it that was written to the provider's cache, where that has a price of its own."""

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What an exchange takes from budgets. `nusd` is None for a model without a price: it has token caps only."""

    tokens: int
    nusd: int | None = None

    def of(self, unit: Unit) -> int:
        return self.tokens if unit is Unit.TOKENS else self.nusd or 0


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

    def may_allow(self, amount: int) -> bool:
        """Whether `amount` could fit once what is reserved by others has turned out to cost less."""
        return amount <= self.limit - self.spent

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Tokens or nano-dollars that a person adds."""

    unit: Unit
    value: int


_TOKENS = re.compile(r"\+?\s*(\d[\d,_ ]*?)\s*([kKmM]?)\s*(?:tokens?)?")
_USD = re.compile(r"\+?\s*\$\s*(\d[\d,_]*)(?:\.(\d{1,9}))?")
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


def parse_amount(text: str) -> Amount:
    """Read `500000`, `500k` or `$2.50`; raises ValueError for anything else, nothing and absurdly much."""
    if match := _USD.fullmatch(text.strip()):
        value = int(_digits(match[1])) * NANO + int((match[2] or "").ljust(9, "0"))
        amount = Amount(unit=Unit.USD, value=value)
    elif match := _TOKENS.fullmatch(text.strip()):
        amount = Amount(unit=Unit.TOKENS, value=int(_digits(match[1])) * _TIMES[match[2].lower()])
    else:
        raise ValueError(f"{text!r} is neither tokens (500000) nor dollars ($2)")
    if not 0 < amount.value <= MAX_AMOUNT:
        raise ValueError(f"{text!r} is not an amount a budget can have")
    return amount


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)[:19]


def amount_text(amount: Amount) -> str:
    """An amount as `parse_amount` reads it."""
    if amount.unit is Unit.TOKENS:
        return str(amount.value)
    whole, rest = divmod(amount.value, NANO)
    return f"${whole}" + (f".{rest:09}".rstrip("0") if rest else "")


def usd_text(nusd: int) -> str:
    """Money for people: cents from a dollar up, and four decimals below."""
    usd = nusd / NANO
    return f"${usd:,.2f}" if usd >= 1 or nusd == 0 else f"${usd:.4f}"


def cost_text(cost: Cost) -> str:
    """What was spent, for people: tokens, and money where models have prices."""
    tokens = f"{cost.tokens:,} tokens"
    return tokens if cost.nusd is None else f"{tokens} for {usd_text(cost.nusd)}"
