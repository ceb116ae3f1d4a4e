"""Board: every initiative as a card, in columns by how far it is; or those of one state, as a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from overlord.domain.portfolio.initiative import InitiativeState
from overlord.entrypoints.web.pages.acts import Act, Wanted, acts
from overlord.entrypoints.web.visitor import Visitor
from overlord.queries import portfolio
from overlord.queries.look import Look
from overlord.queries.portfolio import FileTrouble, InitiativeLine, LastCycle
from overlord.store.portfolio import board as rows
from overlord.store.portfolio import cycles

A_COLUMN, A_PAGE = 20, 100
S = InitiativeState
COLUMNS: tuple[tuple[str, tuple[S, ...]], ...] = (
    ("proposed", (S.PROPOSED,)),
    ("queued", (S.QUEUED,)),
    ("planning", (S.PLANNING,)),
    ("active", (S.ACTIVE,)),
    ("paused", (S.PAUSED,)),
    ("done", (S.DONE, S.CANCELLED)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What is shown; empty for everything."""

    space: str = ""
    state: str = ""
    first: int = 0
    """Of a list of one state: how many come before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """An initiative."""

    line: InitiativeLine
    cost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Those that are equally far."""

    name: str
    cards: tuple[Card, ...]
    total: int
    more: str
    """The address of all of them; empty where all are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The page."""

    filter: Filter
    columns: tuple[Column, ...]
    spaces: tuple[str, ...]
    next_run: datetime | None
    is_asked: bool
    last: LastCycle | None
    troubles: tuple[FileTrouble, ...]
    earlier: str
    """The address of the page before, in a list of one state; empty where there is none."""
    acts: tuple[Act, ...]


def board(look: Look, wanted: Filter, visitor: Visitor) -> Board:
    """Of the repositories that whoever looks may see."""
    names = tuple(name for name in look.settings.repositories if look.sees(name))
    space = next((name for name in names if name.casefold() == wanted.space.casefold()), "")
    known = [item for item in rows.standing(look.connection) if _is_shown(look, item, space)]
    chosen = [(name, states) for name, states in COLUMNS if wanted.state in ("", name)] or list(COLUMNS)
    is_list = len(chosen) == 1
    first, most = (max(0, wanted.first), A_PAGE) if is_list else (0, A_COLUMN)
    found = {name: _sorted(known, states) for name, states in chosen}
    ids = [item.id for items in found.values() for item in items[first : first + most]]
    lines = {line.ref: line for line in portfolio.lines(look, rows.of_ids(look.connection, ids))}
    columns = []
    for name, items in found.items():
        shown = items[first : first + most]
        cards = tuple(_card(lines[item.ref]) for item in shown)
        rest = len(items) > first + len(shown)
        more = _address(space, name, first + A_PAGE if is_list else 0) if rest else ""
        columns.append(Column(name=name, cards=cards, total=len(items), more=more))
    return Board(
        filter=Filter(space=space, state=chosen[0][0] if is_list else "", first=first),
        columns=tuple(columns),
        spaces=names,
        next_run=portfolio.next_run(look, space),
        is_asked=cycles.asked(look.connection) is not None,
        last=portfolio.last_cycle(look),
        troubles=portfolio.troubles(look, space),
        earlier=_address(space, chosen[0][0], max(0, first - A_PAGE)) if first else "",
        acts=_board_acts(visitor, space or (names[0] if len(names) == 1 else "")),
    )


def _board_acts(visitor: Visitor, space: str) -> tuple[Act, ...]:
    initial = {"space": space, "repository": space}
    wanted = (
        Wanted(verb="portfolio-run", label="Go through it now", is_bare=True),
        Wanted(verb="initiative-add", label="Add an initiative…", initial=initial),
    )
    return acts(visitor, wanted, about="", space=space)


def _is_shown(look: Look, item: rows.Standing, space: str) -> bool:
    return look.sees(item.space) and space in ("", item.space)


def _sorted(known: Sequence[rows.Standing], states: Sequence[S]) -> list[rows.Standing]:
    found = [item for item in known if item.state in states]
    if S.DONE in states:
        return sorted(found, key=lambda item: item.updated_at, reverse=True)
    return sorted(found, key=lambda item: (item.priority.order, item.id))


def _card(line: InitiativeLine) -> Card:
    has_cost = line.cost.tokens or line.nusd_budget is not None
    return Card(line=line, cost=portfolio.spent_text(line) if has_cost else "")


def _address(space: str, state: str, first: int) -> str:
    fields = {"space": space, "state": state, "first": first}
    return f"/portfolio?{urlencode({name: value for name, value in fields.items() if value})}"
