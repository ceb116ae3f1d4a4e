"""Whether a time of a schedule has come for which the portfolio was not gone through yet."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from overlord.domain.cron import Cron, Slot


def due_times(
    crons: Iterable[Cron], now: datetime, *, has_run_in: Callable[[Slot], bool]
) -> Mapping[Cron, datetime]:
    """The schedules whose time has come, each with that time. `has_run_in`: whether a scheduled cycle ran in a slot.

    A cycle goes through all that is due when it runs, so one of another schedule counts as well. Times that were missed are made up for
    by one cycle, and none is run for twice, whatever the clock does.
    """
    slots = {cron: cron.slot_at(now) for cron in dict.fromkeys(crons)}
    return {cron: slot.at for cron, slot in slots.items() if not has_run_in(slot)}
