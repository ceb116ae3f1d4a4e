"""How often a space is looked at, and for what. A poll is one request, which says whether anything there has changed since;
only then is the rest asked for. What changes without a trace there (checks, conflicts with a base branch that went on) is
looked at in turn.

All of it may be forgotten: whatever is not known is looked at.
"""

from collections.abc import Collection
from dataclasses import dataclass

from overlord.domain.job import JobId
from overlord.settings.load import Settings

POLLS_PER_HOUR = 600
"""Of all spaces together: GitHub counts, and an hour has room for 5,000 requests of an App."""
WHOLE_LOOK_S = 3600.0
"""After this everything is looked at, whatever the one request says."""
PULL_LOOK_S = 300.0
PULL_LOOKS_PER_HOUR = 100
"""Of all pull requests together, unless their space has news."""


def interval_s(settings: Settings) -> float:
    """How long it is between two polls of a space: as long as the settings say, longer where there are many."""
    many = len(settings.repositories)
    return max(settings.poll_s, many * 3600 / POLLS_PER_HOUR if many > 1 else 0.0)


@dataclass(frozen=True, slots=True)
class _LastLook:
    mark: str
    at: float


class PollSchedule:
    """What each space was like when it was last looked at as a whole, and when each pull request was. Times are the
    monotonic clock's."""

    def __init__(self) -> None:
        self._spaces: dict[str, _LastLook] = {}
        self._pulls: dict[JobId, float] = {}
        self._missing: dict[str, float] = {}

    def is_new(self, space: str, mark: str, now: float) -> bool:
        """Whether a space is to be looked at as a whole."""
        seen = self._spaces.get(space)
        return seen is None or seen.mark != mark or now - seen.at >= WHOLE_LOOK_S

    def saw(self, space: str, mark: str, now: float) -> None:
        """All of a space was looked at, without trouble, after it was like this."""
        self._spaces[space] = _LastLook(mark, now)

    def forget(self, space: str) -> None:
        """Something of it could not be seen."""
        self._spaces.pop(space, None)

    def missing_for_s(self, space: str, now: float) -> float:
        """A space was not found: for how long that has been so."""
        return now - self._missing.setdefault(space, now)

    def found(self, space: str) -> None:
        """It is there, or something else was wrong."""
        self._missing.pop(space, None)

    def due(self, pulls: Collection[JobId], now: float) -> list[JobId]:
        """Of the jobs with a pull request in all spaces, those whose turn it is."""
        self._pulls = {job: at for job, at in self._pulls.items() if job in pulls}
        every = max(PULL_LOOK_S, len(pulls) * 3600 / PULL_LOOKS_PER_HOUR)
        return [job for job in pulls if now - self._pulls.get(job, now - every) >= every]

    def saw_pull(self, job: JobId, now: float) -> None:
        """A pull request was looked at."""
        self._pulls[job] = now
