"""Trouble with one thing among many: it is kept to be told, and the rest goes on. Unless the far end asks to be left alone."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from overlord.errors import FarEndError


@dataclass(frozen=True, slots=True)
class Troubles:
    """What went wrong so far, in the far ends' words."""

    _told: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what a far end does not do for one thing. Raises it when that end names a time to come back."""
        try:
            yield
        except FarEndError as error:
            if wait_asked(error) is not None:
                raise
            self.add(error)

    def add(self, error: FarEndError) -> None:
        self._told.append(str(error))

    def __str__(self) -> str:
        """In one line: the first of them, and how many more there are."""
        more = len(self._told) - 1
        return "".join(self._told[:1]) + (f" (and {more} more)" if more > 0 else "")


def wait_asked(error: FarEndError) -> float | None:
    """For how many seconds a far end asks to be left alone, if it does."""
    seconds: float | None = getattr(error, "retry_after_s", None)
    return seconds
