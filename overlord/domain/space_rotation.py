"""Whose turn it is: the spaces take turns, so that one with fifty jobs in line does not keep one with a single job waiting.

The space with the fewest sessions is next, then the one that was given its last one the longest ago, then the one whose job is the
oldest. Within a space urgent jobs go first, then older ones.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from overlord.domain.job import JobId

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job in line."""

    job: JobId
    space: str
    is_urgent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A space: how many sessions it has, how many it may have, and when it was last given one."""

    running: int
    most: int
    begun_at: datetime | None = None


def in_turn(waiting: Iterable[Waiting], lanes: Mapping[str, Lane], *, room: int) -> list[JobId]:
    """The jobs to begin now, in their order: as many as there is room for, in all and in each space."""
    lines: dict[str, deque[Waiting]] = defaultdict(deque)
    for item in sorted(waiting, key=lambda item: (not item.is_urgent, item.job)):
        lines[item.space].append(item)
    running = {space: lanes[space].running for space in lines}
    begun = {space: (0, lanes[space].begun_at or _NEVER) for space in lines}
    turns: list[JobId] = []

    def place(space: str) -> tuple[int, tuple[int, datetime], JobId]:
        return running[space], begun[space], min(item.job for item in lines[space])

    while len(turns) < room:
        able = [space for space, line in lines.items() if line and running[space] < lanes[space].most]
        if not able:
            break
        space = min(able, key=place)
        turns.append(lines[space].popleft().job)
        running[space] += 1
        begun[space] = (len(turns), _NEVER)  # later than whatever was begun before
    return turns
