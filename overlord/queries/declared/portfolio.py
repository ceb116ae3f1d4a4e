"""The portfolio: every initiative with how far it is, what it waits for, and what it cost.

Also when the portfolio is gone through next, what the last time did, and which files cannot be read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import Line, facts, words
from overlord.domain.conversation.look_argument import SpaceOptionArgument
from overlord.domain.portfolio.files.layout import overview as overview_path
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Code, Command, Moment
from overlord.domain.view.view import Action, Actions, Bullets, Heading, Note, Paragraph, Part, Table, View
from overlord.queries.look import Look
from overlord.queries.portfolio import InitiativeLine, PortfolioNow, portfolio_now, spent_text
from overlord.queries.query import Cell, Query

MOST_SHOWN = 20
"""Initiatives of one state that are shown to people; programs get all."""
GROUPS = (
    InitiativeState.PROPOSED,
    InitiativeState.QUEUED,
    InitiativeState.PLANNING,
    InitiativeState.ACTIVE,
    InitiativeState.PAUSED,
    InitiativeState.DONE,
    InitiativeState.CANCELLED,
)
_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPortfolio:
    """Of which repository."""

    space: Annotated[str, SpaceOptionArgument()] = ""


def _read(look: Look, arguments: OfPortfolio) -> PortfolioNow:
    return portfolio_now(look, look.space(arguments.space or None))


def _view(look: Look, found: PortfolioNow) -> View:
    text = summary_of(found)
    parts: list[Part] = [Heading(text), _times(found)]
    for state in GROUPS:
        parts += _group(state, found.of(state), has_spaces=not found.space)
    if not found.initiatives:
        parts += _how_to_begin(look, found.space)
    if found.draft_notes:
        verb = "waits" if found.draft_notes == 1 else "wait"
        said = f"{count(found.draft_notes, 'note')} {verb} for somebody to accept: "
        parts.append(Paragraph((said, Command(CommandRef("knowledge", ("--drafts",))))))
    if found.troubles:
        parts += [Heading("Trouble with files"), trouble_list(found)]
    first = next(iter(found.initiatives), None)
    if first is not None:
        parts.append(Actions((Action("See one, whole", CommandRef("initiative", (first.ref,))),)))
    return View(summary=text, parts=tuple(parts))


def _how_to_begin(look: Look, space: str) -> Iterator[Part]:
    """What somebody does who has no initiative yet."""
    seen = [space] if space else [name for name in look.settings.repositories if look.sees(name)]
    if not seen:
        yield Paragraph(("There is no initiative yet.",))
        return
    path = f"OVERLORD_HOME/{overview_path(seen[0])}"
    said = " as a list below the heading “## Goals”, then give "
    run = Command(CommandRef("portfolio-run"))
    yield Paragraph(
        ("There is no initiative yet. Write goals into ", Code(path), said, run, "; or without a file:")
    )
    yield Actions((Action("Add an initiative", CommandRef("initiatives add", (seen[0], "what you want"))),))


def summary_of(found: PortfolioNow) -> str:
    """All of it in a line."""
    going = found.of(InitiativeState.QUEUED, InitiativeState.PLANNING, InitiativeState.ACTIVE)
    done, all_ = sum(line.tasks_done for line in going), sum(line.tasks_all for line in going)
    of = f" of {words(found.space)}" if found.space else ""
    tasks = f", {done:,} of {count(all_, 'task')} done" if all_ else ""
    return f"Portfolio{of}: {count(len(going), 'initiative')} under way{tasks}"


def _times(found: PortfolioNow) -> Part:
    """When it is gone through."""
    due: Line = (Moment(int(found.next_run.timestamp()), day=True),) if found.next_run else ("by hand alone",)
    last = found.last
    ran: Line = (Moment(int(last.at.timestamp()), day=True),) if last is not None else ("never",)
    did: Line = ()
    if last is not None and last.acted_at is not None:
        told = words(last.summary, 300) or count(last.acts, "change")
        did = (Moment(int(last.acted_at.timestamp()), day=True), f" ({words(last.cause)}): {told}")
    asked = "now: it is asked for" if found.is_asked else due
    return facts(("next run", asked), ("last run", ran), ("last change", did))


def _group(state: InitiativeState, found: Sequence[InitiativeLine], *, has_spaces: bool) -> Iterator[Part]:
    if not found:
        return
    yield Heading(f"{state.capitalize()} ({len(found):,})")
    rows = tuple(_row(line, has_spaces=has_spaces) for line in found[:MOST_SHOWN])
    yield Table(("id", "initiative", "tasks", "cost", "waits"), rows)
    if (more := len(found) - MOST_SHOWN) > 0:
        yield Note(f"and {more:,} more")


def _row(line: InitiativeLine, *, has_spaces: bool) -> tuple[Line, ...]:
    urgent = f" ({line.priority})" if line.priority in (Priority.URGENT, Priority.HIGH) else ""
    space: Line = (Code(line.space), " ") if has_spaces else ()
    return (
        (Bold(line.ref),),
        (*space, f"{words(line.title, _TITLE)}{urgent}"),
        (progress_text(line),),
        (spent_text(line),) if line.cost.tokens else (),
        (words(line.waits),) if line.waits else (),
    )


def progress_text(line: InitiativeLine) -> str:
    """`3 of 7`; nothing where it has no tasks."""
    return f"{line.tasks_done} of {line.tasks_all}" if line.tasks_all else ""


def trouble_list(found: PortfolioNow) -> Bullets:
    """The files that cannot be read, each with why."""
    items = ((Code(item.path), f": {words(item.trouble, 500)}") for item in found.troubles)
    return Bullets(tuple(items))


def _csv(found: PortfolioNow) -> Iterator[Sequence[Cell]]:
    yield (
        *("id", "repository", "slug", "title", "state", "priority", "tasks done", "tasks", "waits"),
        *("tokens", "nano-dollars", "token budget", "nano-dollar budget", "issue", "updated"),
    )
    for line in found.initiatives:
        yield (
            *(line.ref, line.space, line.slug, line.title, line.state, line.priority),
            *(line.tasks_done, line.tasks_all, line.waits, line.cost.tokens, line.cost.nusd),
            *(line.token_budget, line.nusd_budget, line.issue_number, line.updated_at.isoformat()),
        )


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfPortfolio,
    usage="portfolio",
    means="every initiative: how far it is, what it waits for, what it cost",
    position=40,
    is_narrowed=True,
    has_runs=False,
)
