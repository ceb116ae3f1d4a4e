"""What a person can see of the portfolio as a whole: each initiative in a line, when it is gone through, which files give trouble."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import NANO, Cost, usd_text
from overlord.domain.knowledge.note import NoteState
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import TaskState
from overlord.queries.look import Look
from overlord.store.knowledge import notes
from overlord.store.portfolio import board, cycles, escalations, files, initiatives
from overlord.store.portfolio.board import OpenQuestion

PERSON, SCHEDULE = "person", "schedule"
"""What begins a cycle, beside things that happen."""
MOST_ENDED = 10
"""Of those that ended, the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTrouble:
    """A file that people edit, and why it cannot be read."""

    path: str
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeLine:
    """An initiative as a board shows it."""

    ref: str
    space: str
    slug: str
    title: str
    state: InitiativeState
    priority: Priority
    tasks_done: int
    tasks_all: int
    """Without those that were cancelled."""
    waits: str
    """Why nothing of it goes on now; empty where it does."""
    questions: tuple[int, ...]
    """The decisions about it, its escalations and its tasks that wait for a person."""
    cost: Cost
    nusd_budget: int | None
    token_budget: int | None
    issue_number: int | None
    updated_at: datetime

    @property
    def percent(self) -> int:
        """How much of it is done."""
        return 100 * self.tasks_done // self.tasks_all if self.tasks_all else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCycle:
    """The last time the portfolio was gone through, and what was done the last time that something was to be done."""

    at: datetime
    acted_at: datetime | None
    """When something was done last; what follows is of that time. None where nothing ever was."""
    trigger: str
    actor: str
    acts: int
    summary: str

    @property
    def cause(self) -> str:
        """What began the one that did something, in words."""
        if self.trigger == PERSON:
            return f"asked for by {self.actor}"
        return "by the schedule" if self.trigger == SCHEDULE else "after something had happened"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioNow:
    """All of it, or that of one repository."""

    at: datetime
    space: str
    initiatives: tuple[InitiativeLine, ...]
    """Those that go on by urgency, then those that ended last."""
    next_run: datetime | None
    """By the schedule; None where there is none."""
    is_asked: bool
    """Whether a run is asked for and has not begun."""
    last: LastCycle | None
    troubles: tuple[FileTrouble, ...]
    draft_notes: int
    """Notes that wait for somebody to accept them."""

    def of(self, *states: InitiativeState) -> tuple[InitiativeLine, ...]:
        """Those in one of these states."""
        return tuple(line for line in self.initiatives if line.state in states)


def portfolio_now(look: Look, space: str = "") -> PortfolioNow:
    """Of a repository, or of all that whoever looks may see."""
    known = _seen(look, initiatives.every(look.connection), space)
    chosen = [item for item in known if not item.has_ended] + newest_ended(known, MOST_ENDED)
    drafts = notes.of_state(look.connection, NoteState.DRAFT, documents=True)
    return PortfolioNow(
        at=look.at,
        space=space,
        initiatives=lines(look, chosen),
        next_run=next_run(look, space),
        is_asked=cycles.asked(look.connection) is not None,
        last=last_cycle(look),
        troubles=troubles(look, space),
        draft_notes=sum(_is_of(look, note.space, space) for note in drafts),
    )


def _seen(look: Look, known: Iterable[Initiative], space: str) -> list[Initiative]:
    return [item for item in known if _is_of(look, item.space, space)]


def _is_of(look: Look, its: str, space: str) -> bool:
    return look.sees(its) and (not space or its.casefold() == space.casefold())


def newest_ended(known: Iterable[Initiative], most: int) -> list[Initiative]:
    """Those that ended last."""
    return sorted((item for item in known if item.has_ended), key=_ended_at, reverse=True)[:most]


def _ended_at(initiative: Initiative) -> datetime:
    return initiative.completed_at or initiative.updated_at


def lines(look: Look, chosen: Sequence[Initiative]) -> tuple[InitiativeLine, ...]:
    """Each of these in a line, read at once for all: those that go on by urgency, then the others as they come."""
    done, spent = board.progress(look.connection), _spent(look, chosen)
    waiting, asked = _escalations(look), _asked(look)
    found = list[InitiativeLine]()
    for item in chosen:
        about = Waiting.of(item, waiting.get(item.id, ()), asked)
        found.append(_line(look, item, done.get(item.id, {}), spent[item.id], about))
    going = [line for line in found if line.state not in _ENDED]
    going.sort(key=lambda line: (line.priority.order, int(line.ref[1:])))
    return (*going, *(line for line in found if line.state in _ENDED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What of an initiative waits for somebody."""

    escalations: tuple[Escalation, ...]
    own: tuple[OpenQuestion, ...]
    """What a person is asked of the initiative itself."""
    of_others: tuple[OpenQuestion, ...]
    """Of its escalations and its tasks."""

    @classmethod
    def of(
        cls,
        initiative: Initiative,
        waiting: Sequence[Escalation],
        asked: Mapping[str, Sequence[OpenQuestion]],
    ) -> "Waiting":
        return cls(
            escalations=tuple(waiting),
            own=tuple(asked.get(initiative.ref, ())),
            of_others=(
                *(question for item in waiting for question in asked.get(item.ref, ())),
                *asked.get(f"{initiative.ref}*", ()),
            ),
        )

    @property
    def why(self) -> str:
        """Why nothing goes on, where the engine has not said it; empty where something does."""
        if self.own:
            return f"for your answer to decision {self.own[0].decision_id}"
        held = next((item for item in self.escalations if item.blocks_initiative), None)
        return f"for an answer to escalation {held.ref}" if held is not None else ""


_ENDED = (InitiativeState.DONE, InitiativeState.CANCELLED)
_NOTHING = Cost(tokens=0)
_AT_ONCE = 400


def _spent(look: Look, chosen: Sequence[Initiative]) -> dict[int, Cost]:
    found = {item.id: _NOTHING for item in chosen}
    ids = list(found)
    for start in range(0, len(ids), _AT_ONCE):
        found |= board.spent(look.connection, ids[start : start + _AT_ONCE])
    return found


def _asked(look: Look) -> dict[str, list[OpenQuestion]]:
    """What people are asked, by what it is about; what it is of a task under its initiative with a star, too."""
    found = board.asked(look.connection)
    for about, items in list(found.items()):
        owner, _, task = about.partition(".")
        if task:
            found.setdefault(f"{owner}*", []).extend(items)
    return found


def _escalations(look: Look) -> Mapping[int, list[Escalation]]:
    """Those without an answer, by their initiative."""
    found = dict[int, list[Escalation]]()
    for item in escalations.unresolved(look.connection):
        if item.initiative_id is not None and look.sees(item.space):
            found.setdefault(item.initiative_id, []).append(item)
    return found


def _line(
    look: Look,
    initiative: Initiative,
    done: Mapping[TaskState, int],
    cost: Cost,
    waiting: Waiting,
) -> InitiativeLine:
    nusd, tokens = budget_of(look, initiative)
    return InitiativeLine(
        ref=initiative.ref,
        space=initiative.space,
        slug=initiative.slug,
        title=initiative.title,
        state=initiative.state,
        priority=initiative.priority,
        tasks_done=done.get(TaskState.DONE, 0),
        tasks_all=sum(many for state, many in done.items() if state is not TaskState.CANCELLED),
        waits="" if initiative.has_ended else initiative.waits or waiting.why,
        questions=tuple(item.decision_id for item in (*waiting.own, *waiting.of_others)),
        cost=cost,
        nusd_budget=nusd,
        token_budget=tokens,
        issue_number=initiative.issue_number,
        updated_at=initiative.updated_at,
    )


def budget_of(look: Look, initiative: Initiative) -> tuple[int | None, int | None]:
    """What all its jobs together may cost, in nano-dollars and in tokens: its own, or what the settings say."""
    own = look.settings.space(initiative.space).portfolio
    usual = round(own.initiative_usd * NANO) if own.initiative_usd is not None else None
    nusd = initiative.nusd_budget if initiative.nusd_budget is not None else usual
    return nusd, initiative.token_budget or own.initiative_tokens


def spent_text(line: InitiativeLine) -> str:
    """What it cost of what it may: `$1.20 of $5.00`, `40k of 40M tokens`, `nothing of $5.00`."""
    cost = line.cost
    if cost.nusd is not None or (line.nusd_budget is not None and not cost.tokens):
        spent = usd_text(cost.nusd) if cost.nusd is not None else "nothing"
        return f"{spent} of {usd_text(line.nusd_budget)}" if line.nusd_budget is not None else spent
    spent = short_number(cost.tokens) if cost.tokens else "nothing"
    if line.token_budget is not None:
        return f"{spent} of {short_number(line.token_budget)} tokens"
    return f"{spent} tokens" if cost.tokens else spent


def short_number(number: int) -> str:
    """In three digits: `940`, `94k`, `1.2M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            whole = f"{number / size:.1f}" if number < 10 * size else f"{number / size:.0f}"
            return f"{whole.removesuffix('.0')}{unit}"
    return str(number)


def next_run(look: Look, space: str = "") -> datetime | None:
    """When the clock next has the portfolio gone through: that of a repository, or the first of all."""
    names = [space] if space else [name for name in look.settings.repositories if look.sees(name)]
    own = [look.settings.portfolio] if not space else []
    crons = dict.fromkeys(
        item.cron for item in itertools.chain(own, (look.settings.space(name).portfolio for name in names))
    )
    return min((cron.next_after(look.at) for cron in crons if cron is not None), default=None)


def last_cycle(look: Look) -> LastCycle | None:
    """The last time it was gone through. What that did is of all repositories: nothing for whoever may see some alone."""
    cycle = cycles.last(look.connection)
    if cycle is None or cycle.ran_at is None:
        return None
    acting = cycles.last_acting(look.connection)
    did = acting or cycle
    return LastCycle(
        at=cycle.ran_at,
        acted_at=acting.ran_at if acting is not None else None,
        trigger=did.trigger,
        actor=did.actor,
        acts=did.acts,
        summary="" if look.spaces else did.summary,
    )


def troubles(look: Look, space: str = "") -> tuple[FileTrouble, ...]:
    """The files that people edit and that cannot be read: of a repository, or of all that may be seen."""
    found = files.troubled(look.connection)
    shown = (item for item in found if _is_of(look, _space_of(item.path), space))
    return tuple(FileTrouble(path=item.path, trouble=item.trouble) for item in shown)


def _space_of(path: str) -> str:
    """The repository whose file it is; empty for one of all."""
    parts = path.split("/")
    return "/".join(parts[1:3]) if parts[0] == "spaces" and len(parts) > 3 else ""
