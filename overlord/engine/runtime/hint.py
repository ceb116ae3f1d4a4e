"""Spaces that somebody said have news. A hint makes a poll due before its time; what is true is asked of the forge then.

A hint is used up by the next poll of its space, whatever that poll was due for, and that poll looks at everything: an ordinary
one would not see a check that failed. However many hints there are, a space is polled for them at most once in QUIET_S. They
are forgotten with the daemon, whose first poll looks at everything anyway.
"""

QUIET_S = 5.0


class Hints:
    """The spaces that are hinted at, and when each was last polled for that. Times are the monotonic clock's."""

    def __init__(self) -> None:
        self._hinted: set[str] = set()
        self._polled_at: dict[str, float] = {}

    def give(self, space: str) -> bool:
        """Note that a space has news; whether that was not known yet."""
        is_news = space not in self._hinted
        self._hinted.add(space)
        return is_news

    def is_due(self, space: str, now: float) -> bool:
        """Whether a space is to be polled for a hint now."""
        return space in self._hinted and self._quiet_for_s(space, now) <= 0

    def take(self, space: str, now: float) -> bool:
        """A poll of this space begins: whether it is to look at everything, since somebody hinted at news before. What is
        hinted at from now on makes another poll."""
        if space not in self._hinted:
            return False
        self._hinted.remove(space)
        self._polled_at[space] = now
        return True

    def next_delay_s(self, now: float) -> float | None:
        """How long until a hint that came too early is due; None when there is none. What is due is not waited for."""
        delays = (self._quiet_for_s(space, now) for space in self._hinted)
        return min((delay for delay in delays if delay > 0), default=None)

    def _quiet_for_s(self, space: str, now: float) -> float:
        return self._polled_at.get(space, -QUIET_S) + QUIET_S - now
