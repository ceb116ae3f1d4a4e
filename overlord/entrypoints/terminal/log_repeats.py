"""A warning that is logged again and again is written once in a while, with how often it came. What a session or a stranger can
cause at will must not fill the disk.
"""

import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import structlog
from structlog.typing import EventDict
from typing_extensions import override

QUIET_S = 60.0
MOST_LINES = 1000
"""That are remembered; those that came longest ago are forgotten first."""
_CHANGES_EACH_TIME = frozenset({"timestamp", "exc_info", "stack_info"})


class Repeats:
    """Which lines were written a moment ago. Lines are the same when everything but their time is."""

    def __init__(self, *, quiet_s: float = QUIET_S, now: Callable[[], float] = time.monotonic) -> None:
        self._quiet_s = quiet_s
        self._now = now
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """When each was last written, and how often it was left out since."""

    def count(self, line: str) -> int | None:
        """How often a line was left out before this one; None when this one is to be left out too."""
        at, left_out = self._seen.pop(line, (-self._quiet_s, 0))
        if self._now() - at < self._quiet_s:
            self._seen[line] = at, left_out + 1
            return None
        self._seen[line] = self._now(), 0
        if len(self._seen) > MOST_LINES:
            self._seen.popitem(last=False)
        return left_out


def _raised(exc_info: object) -> str:
    """Which exception a line tells of, in any of the ways to say it."""
    error = (
        sys.exc_info()[1] if exc_info is True else exc_info[1] if isinstance(exc_info, tuple) else exc_info
    )
    return repr(error) if isinstance(error, BaseException) else ""


class RepeatedEvents:
    """For what we log ourselves: a step of structlog's chain."""

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats

    def __call__(self, _logger: Any, _method: str, event: EventDict) -> EventDict:
        """Raises DropEvent for a line that is left out."""
        if logging.getLevelNamesMapping().get(str(event.get("level", "")).upper(), 0) < logging.WARNING:
            return event
        fields = {name: value for name, value in event.items() if name not in _CHANGES_EACH_TIME}
        left_out = self._repeats.count(f"{sorted(fields.items())!r} {_raised(event.get('exc_info'))}")
        if left_out is None:
            raise structlog.DropEvent
        return {**event, "repeated": left_out} if left_out else event


class RepeatedRecords(logging.Filter):
    """For what libraries log through the standard library."""

    def __init__(self, repeats: Repeats) -> None:
        super().__init__()
        self._repeats = repeats

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            return True  # what cannot be formatted is the formatter's to answer
        left_out = self._repeats.count(
            f"{record.name} {record.levelname} {message} {_raised(record.exc_info)}"
        )
        if left_out:
            record.msg, record.args = f"{message} ({left_out} times more since it was last written)", ()
        return left_out is not None
