"""What `overlord doctor` found: one thing, how well it is, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

from overlord.adapters.look import Look


class Health(StrEnum):
    """How well one thing is: only `bad` keeps Overlord from working as configured."""

    WELL = "well"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at, and what to do if it is not well."""

    what: str
    health: Health
    said: str


def well(what: str, text: str) -> Finding:
    return Finding(what=what, health=Health.WELL, said=text)


def warn(what: str, text: str) -> Finding:
    return Finding(what=what, health=Health.WARN, said=text)


def bad(what: str, text: str) -> Finding:
    return Finding(what=what, health=Health.BAD, said=text)


def found_by(look: Look) -> Finding:
    return (well if look.is_well else bad if look.is_sure else warn)(look.what, look.said)
