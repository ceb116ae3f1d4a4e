"""How it last went with what Overlord calls: noted by the calls themselves, so that nothing is asked to find out how it is.

It is forgotten with the daemon: another one has called nothing yet.
"""

import inspect
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast

from overlord.errors import ChatMissing, ExternalServiceError

Port = TypeVar("Port")
NO_TROUBLE = (ChatMissing,)
"""Answers to what was asked for: there is no such message, and whoever says so is there."""


@dataclass(slots=True, kw_only=True)
class Contact:
    """With one of them."""

    answered_at: datetime | None = None
    """When it last did what it was asked; None for never."""
    trouble: str = ""
    """What the last call raised, in a sentence; empty where it was answered."""
    failed_at: datetime | None = None
    """Since when calls fail; None where the last was answered."""

    def note_answer(self, at: datetime) -> None:
        """A call was answered."""
        self.answered_at, self.trouble, self.failed_at = at, "", None

    def note_failure(self, trouble: str, at: datetime) -> None:
        """A call was not."""
        self.trouble, self.failed_at = trouble, self.failed_at or at


@dataclass(frozen=True, slots=True)
class Contacts:
    """With each of those that nothing else is remembered of."""

    runner: Contact = field(default_factory=Contact)
    chat: Contact = field(default_factory=Contact)


def watched(port: Port, contact: Contact, now: Callable[[], datetime]) -> Port:
    """The same port, with how each of its calls went noted."""
    return cast(Port, _Watched(port, contact, now))


class _Watched:
    def __init__(self, port: object, contact: Contact, now: Callable[[], datetime]) -> None:
        self._port, self._contact, self._now = port, contact, now

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if inspect.isasyncgenfunction(found):
            return self._following(found)
        return self._calling(found) if inspect.iscoroutinefunction(found) else found

    def _calling(self, act: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(act)
        async def called(*arguments: Any, **options: Any) -> Any:
            try:
                result = await act(*arguments, **options)
            except (ExternalServiceError, OSError) as error:
                self._note(error)
                raise
            self._contact.note_answer(self._now())
            return result

        return called

    def _following(self, act: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        """What goes on without end is answered with each thing it gives."""

        @wraps(act)
        async def followed(*arguments: Any, **options: Any) -> AsyncIterator[Any]:
            try:
                async for item in act(*arguments, **options):
                    self._contact.note_answer(self._now())
                    yield item
            except (ExternalServiceError, OSError) as error:
                self._note(error)
                raise

        return followed

    def _note(self, error: Exception) -> None:
        if isinstance(error, NO_TROUBLE):
            self._contact.note_answer(self._now())
        else:
            self._contact.note_failure(str(error), self._now())
