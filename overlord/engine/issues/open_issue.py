"""Opening an issue of Overlord's own, once: it is looked for before it is opened again, by a key that nobody can know before it
is there."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from overlord.domain.identifiers import RepositoryName
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeRefused, ForgeUnavailable

LOOKS_BACK = timedelta(minutes=10)
"""Before an issue was ordered: the forge's clock is another one."""


async def opened(
    parts: Parts,
    space: str,
    *,
    title: str,
    body: str,
    key: str,
    ordered_at: datetime | None,
    order: Callable[[], Awaitable[None]],
) -> int:
    """The number of the issue that has `key` in its text: the one that was opened and not noted, or a new one. `order` writes
    down that it is about to be opened. Raises ForgeUnavailable, ForgeMissing, ForgeRefused."""
    name = RepositoryName(space)
    if name not in parts.settings.repositories:
        parts.unopened.pop(key, None)
        raise ForgeRefused(f"{name} is not managed by Overlord any more")
    try:
        found = await _find_existing(parts, name, key, ordered_at) if ordered_at is not None else None
        if ordered_at is None:
            await order()
        number = found or await parts.forge.open_issue(name, title=title, body=body)
    except ForgeUnavailable as error:
        parts.unopened[key] = name, error
        raise
    except ForgeRefused:
        parts.unopened.pop(key, None)  # whoever wants it opened is told
        raise
    parts.unopened.pop(key, None)
    return number


async def _find_existing(parts: Parts, name: RepositoryName, key: str, ordered_at: datetime) -> int | None:
    states = await parts.forge.issues_since(name, ordered_at - LOOKS_BACK)
    return next((state.issue.number for state in states if key in state.issue.body), None)
