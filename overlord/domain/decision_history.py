"""The decision history of a job, from its ledger alone: what happened, when and by whom, grouped by phase, at 80 columns.

It reads nothing but events, so that a ledger which was kept tells it when all else is gone. What sessions cost is no event; it is
added where it is known.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.event import OVERLORD, Json
from overlord.domain.event import EventName as E
from overlord.domain.event_description import describe_event
from overlord.domain.text.plain import visible

WIDTH = 80
BEFORE = "Before the first phase"
DELIVERY = "Delivery and review"
COST = "What it cost"
_LEFT_OUT = frozenset(
    {
        *(E.CHECK_STARTED, E.SETUP_STARTED, E.ENVIRONMENT_COMPLETED, E.SETUP_LOST, E.SESSION_STARTED),
        *(E.SKILLS_CHOSEN, E.SKILL_LOADED, E.MESSAGE_DELIVERED, E.MESSAGE_DEFERRED, E.STEP_FAILED),
    }
)
"""What decides nothing."""
_NEXT_PHASE = {E.CONTRACT_TAKEN: "phase", E.PHASE_COMPLETED: "next", E.GATE_REJECTED: "next"}
"""The facts after which another phase begins, and where they name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An event of the ledger."""

    at: datetime
    name: str
    actor: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One line of the history."""

    section: str
    at: datetime
    actor: str
    name: str
    sentence: str


def told(facts: Iterable[Fact], *, is_local: bool = False) -> Iterator[Told]:
    """What is told of the facts of one job, in order."""
    section, following = BEFORE, ""
    for fact in facts:
        if fact.name == E.PHASE_STARTED:
            following = _phase(fact.data.get("phase")) or following
        if following:
            section, following = following, ""
        sentence = describe_event(fact.name, fact.data, is_local=is_local)
        if sentence and fact.name not in _LEFT_OUT:
            yield Told(section=section, at=fact.at, actor=fact.actor, name=fact.name, sentence=sentence)
        if fact.name in _NEXT_PHASE:
            following = _phase(fact.data.get(_NEXT_PHASE[E(fact.name)]))
        elif fact.name in {E.PASSED, E.GATE_APPROVED}:
            following = DELIVERY


def cost_lines(at: datetime, spent: Sequence[tuple[str, str]], total: str) -> Iterator[Told]:
    """What a job cost so far: each session by its name, then all of them together. Nothing where no session called a model."""
    whole = [("all together", total)] if spent else []
    for name, cost in (*spent, *whole):
        yield Told(section=COST, at=at, actor=OVERLORD, name="cost", sentence=f"{name}: {cost}")


def _phase(name: Json) -> str:
    return f"Phase {visible(name)}" if isinstance(name, str) and name else ""


def history_text(number: int, lines: Sequence[Told]) -> str:
    """The history of a job as people read it."""
    return "\n".join((f"Job {number}, as its ledger tells it (times in UTC)", *_parts(lines)))


def _parts(lines: Sequence[Told]) -> Iterator[str]:
    section = ""
    for item in lines:
        if item.section != section:
            section = item.section
            yield from ("", section)
        who = "" if item.actor == OVERLORD else f"{' '.join(visible(item.actor).split())}: "
        head = f"  {item.at:%Y-%m-%d %H:%M:%S}  "
        yield from textwrap.wrap(
            f"{who}{item.sentence}",
            WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_on_hyphens=False,
        )
