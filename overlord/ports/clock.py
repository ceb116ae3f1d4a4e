"""Time as a parameter."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time as a parameter. `now` is for records and leases; `monotonic` for durations within one process."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; comparable only within this process."""
        ...
