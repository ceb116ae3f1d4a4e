"""Cost: what each turn of a job's sessions cost, as a chart, in numbers, and as rows for a spreadsheet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import NANO, Cost, cost_text
from overlord.domain.inquiry import total
from overlord.domain.view.view import Chart, View
from overlord.entrypoints.web.pages.job import JobHead, head
from overlord.queries.look import Look
from overlord.queries.query import Cell
from overlord.store import sessions
from overlord.store.budgets import exchanges
from overlord.store.budgets.exchanges import JobExchange

MOST_BARS = 100
"""In the chart; where there are more turns, a bar is that of several."""
A_PAGE = 100
"""Turns in the table; all of them are in the rows for a spreadsheet."""
COLUMNS = ("session", "turn", "at", "model", "status", "prompt", "cached", "completion", "usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request to a model, with its number in its session."""

    session: str
    number: int
    exchange: JobExchange
    cost: str

    @property
    def label(self) -> str:
        return f"{self.session} turn {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTurns:
    """The page."""

    head: JobHead
    total: str
    chart: View
    sessions: tuple[tuple[str, str, int, str], ...]
    """Of each its name, who worked in it, how often it asked a model, and what that cost."""
    turns: tuple[Turn, ...]
    """A page of them, the newest first."""
    first: int
    """How many newer ones there are."""
    count: int

    @property
    def newer(self) -> int:
        return max(0, self.first - A_PAGE)

    @property
    def older(self) -> int:
        """Where the next page begins; 0 where there is none."""
        return self.first + A_PAGE if self.first + A_PAGE < self.count else 0


def cost(look: Look, number: int, first: int = 0) -> JobTurns:
    """From the newest turn but so many on. Raises NotFound."""
    shown, turns = head(look, number), list(_turns(look, number))
    begin = min(max(first, 0), max(len(turns) - 1, 0))
    ran = sessions.of_job(look.connection, shown.job.id)
    agents = {one.id: one.agent for one in ran if one.kind is SessionKind.WORK}
    by_session: dict[str, list[Cost]] = {}
    for turn in turns:
        by_session.setdefault(turn.session, []).append(turn.exchange.cost)
    return JobTurns(
        head=shown,
        total=cost_text(total(turn.exchange.cost for turn in turns)),
        chart=View(summary="", parts=(_chart(turns),) if turns else ()),
        sessions=tuple(
            (name, agents.get(name, ""), len(spent), cost_text(total(spent)))
            for name, spent in by_session.items()
        ),
        turns=tuple(reversed(turns))[begin : begin + A_PAGE],
        first=begin,
        count=len(turns),
    )


def rows(look: Look, number: int) -> list[Sequence[Cell]]:
    """Every turn, the oldest first, after the names of the columns. Raises NotFound."""
    head(look, number)
    return [COLUMNS, *(_cells(turn) for turn in _turns(look, number))]


def _cells(turn: Turn) -> Sequence[Cell]:
    made = turn.exchange
    usd = made.cost.nusd / NANO if made.cost.nusd is not None else None
    numbers = made.prompt, made.cached, made.completion
    return turn.session, turn.number, made.at.isoformat(), made.model, made.status, *numbers, usd


def _turns(look: Look, number: int) -> Iterator[Turn]:
    found = exchanges.of_job(look.connection, number)
    seen: dict[str, int] = {}
    for exchange in found:
        seen[exchange.session_id] = seen.get(exchange.session_id, 0) + 1
        yield Turn(
            session=exchange.session_id,
            number=seen[exchange.session_id],
            exchange=exchange,
            cost=cost_text(exchange.cost),
        )


def _chart(turns: Sequence[Turn]) -> Chart:
    """In dollars where any turn has a price, else in tokens."""
    is_priced = any(turn.exchange.cost.nusd is not None for turn in turns)
    size = -(-len(turns) // MOST_BARS)
    groups = [turns[start : start + size] for start in range(0, len(turns), size)]
    points = tuple((_label(group), _amount(group, is_priced=is_priced)) for group in groups)
    each = "turn" if size == 1 else f"{size} turns"
    return Chart(f"Cost per {each}", "USD" if is_priced else "tokens", points)


def _label(group: Sequence[Turn]) -> str:
    first, last = group[0], group[-1]
    if first is last:
        return first.label
    return f"{first.label} to {last.number if first.session == last.session else last.label}"


def _amount(group: Sequence[Turn], *, is_priced: bool) -> float | None:
    spent: Cost = total(turn.exchange.cost for turn in group)
    if not is_priced:
        return spent.tokens
    return spent.nusd / NANO if spent.nusd is not None else None
