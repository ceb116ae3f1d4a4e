"""What came of a step or of a look."""

from enum import Enum


class Progress(Enum):
    """Whether something moved, so that another pass over everything is worth it at once. True where something did."""

    MOVED = "moved"
    """A fact was written that a step, a look or a person waits for."""
    IDLE = "idle"
    """Nothing is to be done now, or what was done leads to nothing more."""

    @classmethod
    def of(cls, moved: "bool | Progress") -> "Progress":
        """The same, of a truth value."""
        return cls.MOVED if moved else cls.IDLE

    def __or__(self, other: "Progress") -> "Progress":
        """That of both together, each of which was made."""
        return Progress.of(self or other)

    def __bool__(self) -> bool:
        return self is Progress.MOVED
