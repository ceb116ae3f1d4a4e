"""When a daemon looks whether something is due, beside the moments at which it is told of news.

Whether it is due, the rows say: a time that comes too early finds nothing to do, and one that was missed is made up for by the next look.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from overlord.domain.timetable import Every, Once, Times
from overlord.engine.retention import clear_up, environments
from overlord.settings.load import Settings

FILES_LOOK_S = 30.0
"""So often a daemon that has nothing else to do looks at files that people edit."""


def timetable(settings: Settings, *, next_poll_at: datetime | None) -> Mapping[str, Times]:
    """Of these settings. `next_poll_at` is when the next repository's turn comes; None while none is waited for."""
    times: dict[str, Times] = {
        "environments": Every(interval=timedelta(seconds=environments.EVERY_S)),
        "retention": Every(interval=timedelta(seconds=clear_up.EVERY_S)),
    }
    times["portfolio files"] = Every(interval=timedelta(seconds=FILES_LOOK_S))
    if next_poll_at is not None:
        times["poll"] = Once(at=next_poll_at)
    if (briefing := settings.briefing.cron) is not None:
        times["briefing"] = briefing
    everywhere = (settings.portfolio, *(settings.space(name).portfolio for name in settings.repositories))
    for cron in {own.cron for own in everywhere if own.cron is not None}:
        times[f"portfolio {cron.expression} {cron.zone}"] = cron
    return times
