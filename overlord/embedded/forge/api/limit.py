"""GitHub's rate limit: so many requests an hour for each account; an unchanged answer costs nothing."""

from collections import Counter
from typing import Any

PER_HOUR = 5000
HOUR_S = 3600


class RateLimit:
    """What each account has spent, hour by hour; times are seconds since the epoch."""

    def __init__(self, per_hour: int = PER_HOUR) -> None:
        self.per_hour = per_hour
        self._spent: Counter[tuple[str, int]] = Counter()

    @staticmethod
    def resets_at(now_s: float) -> int:
        return (int(now_s) // HOUR_S + 1) * HOUR_S

    def spend(self, login: str, now_s: float, requests: int = 1) -> None:
        self._spent[login, self.resets_at(now_s)] += requests

    def shown(self, login: str, now_s: float) -> dict[str, Any]:
        """One resource of `GET /rate_limit`."""
        used = self._spent[login, self.resets_at(now_s)]
        return {
            "limit": self.per_hour,
            "used": used,
            "remaining": max(self.per_hour - used, 0),
            "reset": self.resets_at(now_s),
        }

    def headers(self, login: str, now_s: float) -> dict[str, str]:
        """The headers of an answer."""
        shown = {f"x-ratelimit-{name}": str(value) for name, value in self.shown(login, now_s).items()}
        return shown | {"x-ratelimit-resource": "core"}
