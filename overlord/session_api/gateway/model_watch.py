"""Looks after the models that repositories work with: once at the daemon's start, and again while one gives no replies.

A daemon does not refuse to start because a model rests: it says so and goes on. It asks again by itself, because sessions that have
given up do not, and people are to be told that they can go on.
"""

import asyncio
from collections.abc import Iterator

import structlog

from minion.protocol import SessionKind
from overlord.session_api.gateway import preflight
from overlord.session_api.parts import SessionApiParts
from overlord.settings.load import Settings
from overlord.settings.model import Candidate
from overlord.store.budgets import model_outages

EVERY_S = 60.0

log = structlog.get_logger()


def models_in_use(settings: Settings) -> tuple[tuple[Candidate, ...], ...]:
    """What repositories' sessions and reviews are answered by: for each name that is used, those that stand in for each other."""
    names = dict.fromkeys(
        settings.space(name).model_for(kind)
        for name in settings.repositories
        for kind in (SessionKind.WORK, SessionKind.REVIEW)
        if kind is SessionKind.WORK or settings.space(name).checks.review
    )
    return tuple(settings.models[name] for name in names)


class ModelWatch:
    """One for a daemon."""

    def __init__(self, parts: SessionApiParts) -> None:
        self._parts = parts

    async def follow(self) -> None:
        """Look at every model, and then for ever at those that give no replies."""
        await self.look_at_all()
        while True:
            await asyncio.sleep(EVERY_S)
            await self.look_again()

    async def look_at_all(self) -> None:
        """See whether each model can be used; what is wrong is a fact, told once."""
        known = {row.model for row in await self._parts.database.read(model_outages.every)}
        for name, candidate in self._candidates():
            endpoint = self._parts.settings.endpoint(candidate.endpoint)
            fault = await preflight.check(
                self._parts.endpoint(candidate.endpoint),
                name,
                limit_parameter=endpoint.limit_parameter,
                wire=preflight.wire_asked(endpoint.wire),
                has_key=bool(endpoint.api_key.get_secret_value()),
                redact=self._parts.redactor.redact,
            )
            if fault is None:
                await self._parts.outages.end(name)
                continue
            if name in known:  # the daemon before has told the fact; this one's log is to say it too
                log.warning("model_not_usable", model=name, trouble=fault.describe(name))
            await self._parts.outages.note(name, fault)

    async def look_again(self) -> None:
        """See whether what gave no replies gives some again; while sessions ask, they find out by themselves."""
        candidates = dict(self._candidates())
        for outage in await self._parts.database.read(model_outages.every):
            candidate = candidates.get(outage.model)
            if candidate is None:
                await self._parts.outages.drop(outage.model)
            elif not self._parts.outages.is_tried(outage.model):
                endpoint = self._parts.settings.endpoint(candidate.endpoint)
                fault = await preflight.check_again(
                    self._parts.endpoint(candidate.endpoint),
                    outage.model,
                    limit_parameter=endpoint.limit_parameter,
                    wire=preflight.wire_asked(endpoint.wire),
                    redact=self._parts.redactor.redact,
                )
                if fault is None:
                    await self._parts.outages.end(outage.model)
                elif fault.passes != outage.fault.passes:
                    await self._parts.outages.note(outage.model, fault)

    def _candidates(self) -> Iterator[tuple[str, Candidate]]:
        """Each model in use once, by the name its endpoint knows it by."""
        settings = self._parts.settings
        found = {
            settings.model_name(item): item for candidates in models_in_use(settings) for item in candidates
        }
        yield from found.items()
