"""What is noticed while models are asked: how long each session has tried in vain, and which models give no replies at all.

A short wait is nobody's business: a model counts as away once a session tries for `SAID_AFTER_S`, or at once where trying again
changes nothing (a wrong key, an unknown model). A session that has tried for `retries.give_up_s` is told no for good, so that its
job asks a person instead of spending its time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from overlord.domain.model_fault import ModelFault, ModelOutage, minutes_text
from overlord.domain.session import Account
from overlord.failpoints import Failpoint
from overlord.ports.clock import Clock
from overlord.settings.load import Settings
from overlord.store.budgets import model_outages
from overlord.store.database import Database

REPORTED_AFTER_S = 10.0


@dataclass(slots=True, kw_only=True)
class Outages:
    """Rows in the store are for people and outlive the daemon; what sessions have tried is forgotten with it."""

    database: Database
    clock: Clock
    settings: Callable[[], Settings]
    notify: Callable[[], None]
    """Called when something is new."""
    _trying: dict[str, tuple[str, float]] = field(default_factory=dict)
    """For each session that tries in vain: which model, and since when, on the monotonic clock."""
    _noted: dict[str, ModelOutage] | None = None
    """The rows, as they were last read or written; None before the first look."""

    async def failed(self, account: Account, model: str, fault: ModelFault, *, wait_s: float = 0.0) -> str:
        """An attempt of a session had no reply, and the next comes after `wait_s`. Why it is not to try again; empty where it may."""
        now = self.clock.monotonic()
        _, began = self._trying.setdefault(account.id, (model, now))
        patience_s = self.settings().retries.give_up_s
        if not fault.passes:
            self.forget(account.id)
            await self.note(model, fault)
            return f"{fault.describe(model)}. {fault.advice}"
        if now - began + wait_s >= min(REPORTED_AFTER_S, patience_s):
            await self.note(model, fault, since_s=now - began, left_s=max(0.0, patience_s - (now - began)))
        if now - began + wait_s < patience_s:
            return ""
        self.forget(account.id)
        return f"{fault.describe(model)}; it was tried for {minutes_text(now - began)}. {fault.advice}"

    async def answered(self, account: Account, model: str) -> None:
        """The model answers."""
        self.forget(account.id)
        await self.end(model)

    async def end(self, model: str) -> None:
        """The model answers, whoever asked."""
        if model not in await self._known():
            return
        (await self._known()).pop(model, None)
        at, channel = self.clock.now(), self._channel()
        await self.database.write(
            Failpoint.MODEL_OUTAGE_NOTED, lambda c: model_outages.end(c, model, at=at, channel=channel)
        )
        self.notify()

    async def drop(self, model: str) -> None:
        """Nobody works with this model any more."""
        (await self._known()).pop(model, None)
        await self.database.write(Failpoint.MODEL_OUTAGE_NOTED, lambda c: model_outages.forget(c, model))

    def forget(self, session_id: str) -> None:
        """The session tries no more, or anew."""
        self._trying.pop(session_id, None)

    def is_tried(self, model: str) -> bool:
        """Whether a session tries this model in vain just now."""
        return any(tried == model for tried, _ in self._trying.values())

    async def note(
        self, model: str, fault: ModelFault, *, since_s: float = 0.0, left_s: float | None = None
    ) -> None:
        """Write down how it is with a model, if that is new. `left_s`: for how long it is tried again."""
        known, at = await self._known(), self.clock.now()
        outage = ModelOutage(
            model=model,
            kind=fault.kind,
            detail=fault.detail,
            since=at - timedelta(seconds=since_s),
            until=None if left_s is None else at + timedelta(seconds=left_s),
        )
        if not _is_new(known.get(model), outage):
            return
        known[model] = outage
        channel = self._channel()
        await self.database.write(
            Failpoint.MODEL_OUTAGE_NOTED, lambda c: model_outages.put(c, outage, at=at, channel=channel)
        )
        self.notify()

    async def _known(self) -> dict[str, ModelOutage]:
        if self._noted is None:
            rows = await self.database.read(model_outages.every)
            self._noted = {row.model: row for row in rows}
        return self._noted

    def _channel(self) -> str:
        slack = self.settings().slack
        return slack.channel if slack.is_on else ""


def _is_new(before: ModelOutage | None, now: ModelOutage) -> bool:
    """Whether people would see a difference: a second more or less is none."""
    if before is None or (before.kind, before.detail) != (now.kind, now.detail):
        return True
    if before.until is None or now.until is None:
        return before.until is not now.until
    return now.until - before.until > timedelta(seconds=REPORTED_AFTER_S)
