"""Trouble with one thing among many: it is kept to be told, and the rest goes on. Unless the external service asks to be left alone."""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from overlord.engine.runtime.progress import Progress
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeRefused

News = TypeVar("News")
LOOKS_BACK = timedelta(minutes=10)
"""What is asked for again where a list is asked for by time: clocks differ."""

LOCKED = "locked"
"""A word of GitHub's when it refuses a comment on a conversation that was locked."""


@dataclass(frozen=True, slots=True)
class PollErrors:
    """What went wrong so far, in the external services' words."""

    _reported: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what an external service does not do for one thing. Raises it when that end names a time to come back."""
        try:
            yield
        except ExternalServiceError as error:
            if wait_asked(error) is not None:
                raise
            self.add(error)

    def add(self, error: ExternalServiceError, *, advice: str = "") -> None:
        self._reported.append(f"{error}; {advice}" if advice else str(error))

    def __len__(self) -> int:
        return len(self._reported)

    def __str__(self) -> str:
        """In one line: the first of them, and how many more there are."""
        more = len(self._reported) - 1
        return "".join(self._reported[:1]) + (f" (and {more} more)" if more > 0 else "")


def wait_asked(error: ExternalServiceError) -> float | None:
    """For how many seconds an external service asks to be left alone, if it does."""
    seconds: float | None = getattr(error, "retry_after_s", None)
    return seconds


def is_locked(error: ForgeRefused) -> bool:
    """Whether a comment was refused because its conversation is locked for us too: nothing can be told there."""
    return not isinstance(error, ForgeMissing) and LOCKED in str(error).casefold()


async def through(
    news: Iterable[News],
    act: Callable[[News], Awaitable[Progress]],
    poll_errors: PollErrors,
    *,
    since: datetime,
    at: Callable[[News], datetime],
) -> tuple[Progress, datetime]:
    """Act on each of what is new, oldest first. Whether anything moved, and the time to ask from next: what failed is
    asked for again, with all that came after it."""
    before, moved = len(poll_errors), Progress.IDLE
    for item in news:
        with poll_errors.kept():
            moved |= await act(item)
        if len(poll_errors) == before:
            since = max(since, at(item))
    return moved, since
