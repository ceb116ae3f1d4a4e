"""The machine's own clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time in UTC and a monotonic count, as `ports.Clock` says."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
