"""How the last poll of each repository ended: all of it was read, a part, or it was not reached at all. The log says each change
once, and `/readyz` how it is now.

It is forgotten with the daemon, so that each daemon's log says what is wrong. Numbers in a message are no news: a time to wait and
a count change with every poll.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import structlog

log = structlog.get_logger()

_NUMBER = re.compile(r"\d+")
UNSEEN = (
    "check its name in the settings, and that the App is installed on it or the token may see it;"
    " `overlord doctor` tells which"
)
"""What to do about a repository that the forge says is not there."""


class Reachability(StrEnum):
    """How it is with a repository."""

    FULL = "reached"
    PARTIAL = "part of it cannot be read"
    NONE = "it cannot be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    reached: Reachability
    trouble: str


_WELL = _Last(reached=Reachability.FULL, trouble="")


class PollOutcomes:
    """Of each repository, how its last poll ended."""

    def __init__(self) -> None:
        self._last: dict[str, _Last] = {}

    def note(self, space: str, trouble: str, *, is_reached: bool, again_in_s: float) -> None:
        """A poll has ended, and another comes after so many seconds. `trouble`: what was wrong with any of it, in a person's
        words; empty for nothing."""
        part = Reachability.PARTIAL if trouble else Reachability.FULL
        now = _Last(reached=part if is_reached else Reachability.NONE, trouble=trouble)
        before = self._last.get(space, _WELL)
        self._last[space] = now
        if before.reached is now.reached and is_alike(before.trouble, now.trouble):
            return
        if now.reached is Reachability.FULL:
            log.info("repository_reached_again", space=space, after=before.trouble)
        elif now.reached is Reachability.PARTIAL:
            log.warning("repository_read_in_part", space=space, trouble=trouble, again_in_s=again_in_s)
        else:
            log.warning("repository_not_reached", space=space, trouble=trouble, again_in_s=again_in_s)

    def of(self, space: str) -> Reachability:
        """How it is with a repository; one that was not asked yet is taken for reached."""
        return self._last.get(space, _WELL).reached

    def is_none_reached(self, spaces: Collection[str]) -> bool:
        """Whether nothing can be done in any of these."""
        return bool(spaces) and all(self.of(space) is Reachability.NONE for space in spaces)


def is_alike(trouble: str, other: str) -> bool:
    """Whether two troubles are the same but for their numbers."""
    return _NUMBER.sub("0", trouble) == _NUMBER.sub("0", other)
