"""The first part of a cycle: all of the portfolio is read in one transaction, with the settings of each space."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256

from overlord.domain.pause import EVERYTHING, Pause
from overlord.domain.portfolio.task import LIVE, TaskState
from overlord.domain.portfolio.view import Autonomy, Conflict, PortfolioView, SpaceView
from overlord.engine.portfolio.goals import goals_of
from overlord.settings.load import Settings
from overlord.store.portfolio import escalations, facts, initiatives, plan_drafts, tasks
from overlord.store.spaces import pauses


def orient(
    connection: sqlite3.Connection,
    settings: Settings,
    at: datetime,
    *,
    on_turn: Collection[str],
    conflicts: Sequence[Conflict] = (),
) -> PortfolioView:
    """Everything a cycle decides by. `on_turn`: the spaces that go by the schedule alone, and whose time has come; `conflicts`: notes that
    do not go together, which are looked for once in a cycle."""
    unfinished = initiatives.unfinished(connection)
    known = {item.id for item in unfinished}
    found = tasks.of_states(connection, (*LIVE, TaskState.PROPOSED))
    own = [task for task in found if task.initiative_id in known or task.state is TaskState.IN_PROGRESS]
    return PortfolioView(
        at=at,
        spaces=_spaces(connection, settings, on_turn),
        initiatives=unfinished,
        tasks=own,
        ended=tasks.ended_of_unfinished(connection),
        links=tasks.live_links(connection),
        done=facts.awaited(connection),
        escalations=escalations.unresolved(connection),
        jobs=facts.jobs_of_issues(connection),
        open_jobs=facts.other_open_jobs(connection),
        answered=facts.answered(connection),
        asked=facts.asked(connection),
        costs=facts.costs(connection),
        keys=facts.keys(connection),
        raised=facts.raised(connection),
        conflicts=conflicts,
        edited_plans=plan_drafts.edited(connection, unfinished),
        troubles=facts.troubles(connection),
        lead_troubles=facts.lead_troubles(connection),
        last_served=facts.last_served(connection),
    )


def _spaces(
    connection: sqlite3.Connection, settings: Settings, on_turn: Collection[str]
) -> Mapping[str, SpaceView]:
    paused, pulls = pauses.every(connection), facts.pulls_taken(connection)
    notes, worked = facts.notes_counting(connection), facts.merged_spaces(connection)
    red, goals = facts.red_at_base(connection), goals_of(connection, settings.repositories)
    found = dict[str, SpaceView]()
    for name in settings.repositories:
        space = settings.space(name)
        own, autonomy = space.portfolio, Autonomy(space.autonomy)
        pause = _pause(paused, name)
        found[name] = SpaceView(
            name=name,
            autonomy=autonomy,
            is_turn=not pause and (autonomy is not Autonomy.SCHEDULED or name in on_turn),
            goals=goals.get(name, ()),
            notes=notes.get(name, 0),
            has_worked=name in worked,
            red_at_base=red.get(name, ""),
            open_initiatives=own.open_initiatives,
            leads=own.leads,
            pulls=pulls.get(name, 0),
            most_pulls=space.delivery.open_pulls,
            stale_days=own.stale_days,
            thin_notes=own.thin_notes,
            usd=own.initiative_usd,
            tokens=own.initiative_tokens,
            path_leases=own.path_leases,
            pause=pause,
        )
    return found


def _pause(paused: Mapping[str, Pause], name: str) -> str:
    pause = paused.get(EVERYTHING) or paused.get(name)
    return "" if pause is None else pause.describe()


def fingerprint(
    connection: sqlite3.Connection, settings: Settings, at: datetime, *, on_turn: Collection[str]
) -> str:
    """Of all that a cycle decides by: the same means that there is nothing to decide. It asks no row twice, however many there are."""
    marks = [at.date().isoformat()]
    for name in sorted(settings.repositories):
        space = settings.space(name)
        is_turn = name in on_turn and Autonomy(space.autonomy) is Autonomy.SCHEDULED
        marks.append(f"{name}: {space.portfolio!r} {space.autonomy} {space.delivery.open_pulls} {is_turn}")
    marks.append(repr(sorted(facts.troubles(connection).items())))
    marks.append(repr(sorted(facts.lead_troubles(connection).items())))
    for query in _MARKS:
        marks += ["|".join(map(str, tuple(row))) for row in connection.execute(query)]
    return sha256("\n".join(marks).encode()).hexdigest()


_MARKS = (
    # A clock that was set back says nothing: each fact about the portfolio has a number.
    "SELECT max(seq) FROM ledger_about",
    "SELECT state, count(*), max(updated_at) FROM initiatives GROUP BY state",
    "SELECT state, count(*), max(updated_at) FROM tasks GROUP BY state",
    "SELECT count(*) FROM task_links",
    "SELECT state, count(*), max(id) FROM escalations GROUP BY state",
    "SELECT count(*), max(id) FROM decisions WHERE about <> '' AND state = 'answered' AND NOT applied",
    "SELECT count(*), max(id) FROM decisions WHERE about <> '' AND state = 'open'",
    "SELECT state, count(*), max(updated_at) FROM notes GROUP BY state",
    "SELECT path, digest FROM portfolio_files WHERE path LIKE '%.md' ORDER BY path",
    "SELECT space, count(*) FROM pauses GROUP BY space",
    "SELECT count(*), max(updated_at) FROM jobs WHERE is_open",
    "SELECT count(*) FROM job_outcomes WHERE ended_on IS NOT NULL",
    "SELECT job_id, red_at_base FROM job_portfolio WHERE red_at_base <> '' ORDER BY job_id DESC LIMIT 1",
)
