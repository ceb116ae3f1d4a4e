"""How long sessions have run and been silent, and questions been open, as this daemon has seen it on its monotonic clock.

The wall clock jumps, machines are suspended, and while no daemon ran nobody could have received a sign of life: none of that counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from minion.protocol import SessionKind
from overlord.domain.decision import Decision
from overlord.domain.session import Session, StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastSign:
    since: float
    """When this daemon first looked at it."""
    before_s: float
    """How long it had run until its last sign of life before that."""
    heartbeat: datetime | None
    heard: float
    """When a new sign of life was last seen."""


@dataclass(slots=True)
class SessionWatchdog:
    """What is remembered of the sessions that run and of their questions. It may be forgotten: then each is given its
    silence, or its wait, anew."""

    _seen: dict[str, _LastSign] = field(default_factory=dict)
    _asked: dict[int, float] = field(default_factory=dict)

    def reason_to_stop(
        self, session: Session, monotonic: float, *, silent_s: float, grace_s: float
    ) -> StopReason | None:
        """Why a started session must be stopped now, if it must. `monotonic` is the daemon's clock, in seconds."""
        if session.started_at is None:
            return None
        sight = self._look(session, session.started_at, monotonic)
        if session.report is not None:
            # It has said its last word; what still runs is only in the way.
            return StopReason.REPORTED if monotonic - sight.heard > grace_s else None
        if sight.before_s + monotonic - sight.since >= session.time_limit_s:
            return StopReason.TIME_LIMIT
        if session.kind is SessionKind.WORK and monotonic - sight.heard >= silent_s:
            return StopReason.SILENT
        return None

    def overdue(self, timed: Sequence[Decision], monotonic: float) -> list[Decision]:
        """Of all open decisions that end by themselves, those that were open for as long as they are waited for."""
        self._asked = {item.id: self._asked.get(item.id, monotonic) for item in timed}
        return [item for item in timed if monotonic - self._asked[item.id] >= _wait_s(item)]

    def forget(self, session_id: str) -> None:
        """It has ended."""
        self._seen.pop(session_id, None)

    def _look(self, session: Session, started_at: datetime, monotonic: float) -> _LastSign:
        known = self._seen.get(session.id)
        if known is None:
            lived = (session.heartbeat_at or started_at) - started_at
            known = _LastSign(
                since=monotonic,
                before_s=min(max(lived.total_seconds(), 0.0), session.time_limit_s),
                heartbeat=session.heartbeat_at,
                heard=monotonic,
            )
        elif session.heartbeat_at != known.heartbeat:
            known = replace(known, heartbeat=session.heartbeat_at, heard=monotonic)
        self._seen[session.id] = known
        return known


def _wait_s(decision: Decision) -> float:
    over = decision.expires_at or decision.created_at
    return (over - decision.created_at).total_seconds()
