"""How urgent something is."""

from enum import StrEnum


class Priority(StrEnum):
    """The words that people and models use."""

    URGENT = "urgent"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def order(self) -> int:
        """Lower comes first."""
        return list(Priority).index(self)
