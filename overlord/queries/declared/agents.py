"""How each coding agent did with each model over 7, 30 or 90 days: first passes, revisions, time and cost per merged pull request.

A job counts on the day it ended, with all that it did and cost before. A job on which several agents worked counts for all of them
together. Days are those of UTC.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated

from overlord.domain.budgets.budget import NANO
from overlord.domain.chat.lines import words
from overlord.domain.conversation.look_argument import DaysArgument, DaySpan, SpaceOptionArgument
from overlord.domain.text.plain import count
from overlord.domain.trend import League, LeagueRow, league, window_start
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Heading, Note, Paragraph, Part, Table, View
from overlord.queries.declared.trends import MOST_ROWS, cost_short, number, percent, took
from overlord.queries.look import Look
from overlord.queries.query import Cell, Query
from overlord.store import job_outcomes

_COLUMNS = ("agent", "model", "merged", "first pass", "revised", "to PR", "cost")
MEANS = (
    "A job counts on the day it ended (UTC), with all that it did and cost before. Columns: merged, of the jobs that ended;"
    " delivered without a revision, of those delivered; revisions per job; median time to the pull request; cost per merged pull"
    " request. Few jobs say little."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAgents:
    """Over which days, and of what."""

    days: Annotated[DaySpan, DaysArgument()] = DaySpan.MONTH
    space: Annotated[str, SpaceOptionArgument()] = ""


def _read(look: Look, arguments: OfAgents) -> League:
    days, space = int(arguments.days), look.space(arguments.space or None)
    wanted = job_outcomes.Wanted(
        first=window_start(look.at, days).date(), last=look.at.astimezone(UTC).date(), space=space
    )
    return league(job_outcomes.by_agent(look.connection, wanted), at=look.at, days=days, space=space)


def _view(_look: Look, found: League) -> View:
    ended = sum(row.figures.ended for row in found.agents)
    of = f" in {words(found.space)}" if found.space else ""
    text = f"Agents over the last {found.days} days{of}: {count(ended, 'job')} ended"
    if not ended:
        return View(summary=text, parts=(Heading(text), Paragraph(("No job ended in these days.",))))
    parts: list[Part] = [Heading(text), _table(found.agents)]
    spaces = dict.fromkeys(row.space for row in found.spaces)
    if len(spaces) > 1:
        for space in list(spaces)[:MOST_ROWS]:
            parts += [Heading(words(space)), _table([row for row in found.spaces if row.space == space])]
    return View(summary=text, parts=(*parts, Note(MEANS)))


def _table(rows: Sequence[LeagueRow]) -> Table:
    return Table(
        _COLUMNS,
        tuple(
            (
                (Bold(words(row.agent) or "none"),),
                (words(row.model) or "none",),
                (_of(row.figures.merged, row.figures.ended, row.figures.merge_rate),),
                (_of(row.figures.first_pass, row.figures.delivered, row.figures.first_pass_rate),),
                (number(row.figures.revisions_per_job),),
                (took(row.figures.pull_median_s),),
                (cost_short(row.figures.cost_per_merged),),
            )
            for row in rows[:MOST_ROWS]
        ),
    )


def _of(some: int, whole: int, rate: float | None) -> str:
    return f"{some:,}/{whole:,}" + (f" ({percent(rate)})" if whole else "")


_FIELDS = (
    *("ended", "merged", "merge_rate", "delivered", "first_pass", "first_pass_rate"),
    *("revisions", "revisions_per_job", "pull_median_s"),
)


def _csv(found: League) -> Iterator[Sequence[Cell]]:
    yield ("agent", "model", "repository", *_FIELDS, "tokens_per_merged", "usd_per_merged")
    for row in (*found.agents, *found.spaces):
        cost = row.figures.cost_per_merged
        yield (
            row.agent,
            row.model,
            row.space or "all",
            *(getattr(row.figures, name) for name in _FIELDS),
            cost.tokens if cost else None,
            cost.nusd / NANO if cost and cost.nusd is not None else None,
        )


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfAgents,
    usage="agents 30",
    means="how each coding agent and model did over `7`, `30` or `90` days, also `agents 90 owner/repo`",
    position=27,
)
