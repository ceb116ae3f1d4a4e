"""Health: a line each for the forge, the chat, the runner, the model and the disk, and what to do about what is wrong.

All of it is what the daemon's own work has shown: its last poll, call and answer. Nothing is asked because somebody looks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from overlord.app import Overlord
from overlord.domain.inquiry import Status, age_text
from overlord.engine.runtime.contact import Contact
from overlord.entrypoints.chat.stand_in import HOW
from overlord.entrypoints.listen.health import Health
from overlord.queries.look import Look
from overlord.store.budgets import exchanges
from overlord.store.spaces import spaces

DOCTOR = "`overlord doctor` says what is wrong with it."
NEVER = "nothing was asked of it since the daemon started"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLine:
    """How it is with one of them."""

    name: str
    is_good: bool
    text: str
    advice: str = ""
    """What a person can do; empty where nothing has to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the daemon itself knows, at one moment; the database says the rest."""

    runner: str
    runner_contact: Contact
    has_chat: bool
    chat_contact: Contact
    is_connected: bool | None
    """Whether the chat's connection stands; None where it has none to stand."""
    free: str
    """Of the disk."""
    shortage: str
    is_stalled: bool


async def known(running: Overlord, watch: Health) -> Known:
    """Read from what the daemon remembers, and from its file system."""
    parts = running.parts
    chat = parts.chat_output
    connected = chat.connected if chat is not None else None
    room = parts.home.room()
    low = parts.settings.disk.least.missing(room, is_low=running.tick.is_low)
    return Known(
        runner=parts.runner.name,
        runner_contact=parts.contacts.runner,
        has_chat=chat is not None,
        chat_contact=parts.contacts.chat,
        is_connected=await connected() if connected is not None else None,
        free=str(room),
        shortage=parts.home.shortage() or low,
        is_stalled=watch.is_stalled(),
    )


def lines(look: Look, status: Status, found: Known, sees: Iterable[str] = ()) -> tuple[HealthLine, ...]:
    """For who sees some repositories, what is about those; for all others all."""
    seen = frozenset(sees)
    names = [name for name in look.settings.repositories if not seen or name in seen]
    forge = _forge(look, status, names)
    if seen:
        return tuple(forge)
    return (*forge, _chat(look, found), _runner(look, found), *_models(look, status), *_machine(found))


def _forge(look: Look, status: Status, names: list[str]) -> Iterator[HealthLine]:
    bad = [item for item in status.poll_errors if item.name in names]
    for item in bad:
        text = f"{item.name}: {item.trouble or 'cannot be found'}"
        advice = "Check its name, and that the App or the token may see it. " if item.is_gone else ""
        yield HealthLine(name="Forge", is_good=False, text=text, advice=f"{advice}{DOCTOR}")
    if len(bad) == len(names):
        return
    flags = spaces.noted(look.connection)
    polled = [flags[name].polled_at for name in names if name in flags]
    last = max((at for at in polled if at is not None), default=None)
    read = len(names) - len(bad)
    which = f"{read} {'repository' if read == 1 else 'repositories'}"
    text = f"{which} read, the last {_ago(last, look.at)}" if last is not None else f"{which}, none read yet"
    yield HealthLine(name="Forge", is_good=True, text=text)


def _chat(look: Look, found: Known) -> HealthLine:
    if not found.has_chat:
        return HealthLine(name="Chat", is_good=True, text="there is none", advice=f"To have one: {HOW}.")
    if found.is_connected is False:
        text = "not connected: what people say there does not arrive; it is tried again without end"
        return HealthLine(name="Chat", is_good=False, text=text, advice=DOCTOR)
    stands = "connected, " if found.is_connected else ""
    return _of_contact("Chat", stands, found.chat_contact, look.at)


def _runner(look: Look, found: Known) -> HealthLine:
    return _of_contact("Runner", f"{found.runner}: ", found.runner_contact, look.at)


def _of_contact(name: str, about: str, contact: Contact, at: datetime) -> HealthLine:
    if contact.failed_at is not None:
        text = f"{about}{contact.trouble} (since {_ago(contact.failed_at, at)})"
        return HealthLine(name=name, is_good=False, text=text, advice=DOCTOR)
    told = f"answered {_ago(contact.answered_at, at)}" if contact.answered_at is not None else NEVER
    return HealthLine(name=name, is_good=True, text=f"{about}{told}")


def _models(look: Look, status: Status) -> Iterator[HealthLine]:
    for outage in status.outages:
        advice = outage.fault.advice if outage.fault.passes else ""  # the line of others has it
        yield HealthLine(name="Model", is_good=False, text=outage.line(look.at), advice=advice)
    if not status.outages:
        last = exchanges.last_answered(look.connection)
        told = f"answered {_ago(last, look.at)}" if last is not None else "not asked yet"
        yield HealthLine(name="Model", is_good=True, text=f"{look.settings.model.name}: {told}")


def _machine(found: Known) -> Iterator[HealthLine]:
    if found.shortage:
        advice = "Free some of it, or let `overlord gc` do it."
        yield HealthLine(name="Disk", is_good=False, text=found.shortage, advice=advice)
    else:
        yield HealthLine(name="Disk", is_good=True, text=found.free)
    if found.is_stalled:
        text, advice = (
            "the loop makes no passes: no job is moved",
            "Start Overlord again; its log says where it stood.",
        )
        yield HealthLine(name="Daemon", is_good=False, text=text, advice=advice)


def _ago(at: datetime | None, now: datetime) -> str:
    return f"{age_text((now - at).total_seconds())} ago" if at is not None else ""
