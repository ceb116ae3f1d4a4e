"""History: every job there was, found by its repository, its state, and words of its issue, its checks and its sessions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from overlord.domain.budgets.budget import cost_text
from overlord.domain.conversation.pull_card import state_in_words, state_of
from overlord.domain.job import Job, JobState
from overlord.domain.search import Hit, HitKind, Piece
from overlord.domain.text.search_words import MOST_CHARS, match_expression
from overlord.entrypoints.web.pages.job import TURNS_A_PAGE
from overlord.queries.declared.search import place_of
from overlord.queries.look import Look
from overlord.store import job_history, jobs, search
from overlord.store.budgets import costs

A_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What is looked for; empty for everything."""

    words: str = ""
    space: str = ""
    state: str = ""
    before: int = 0
    """Only jobs with a smaller number: where the page before ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where words were found, and the address that leads there."""

    name: str
    url: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One job."""

    job: Job
    state: str
    cost: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The page."""

    filter: Filter
    jobs: tuple[Found, ...]
    spaces: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    older: str
    """The address of the next page; empty where there is none."""
    nothing: str
    """What is said where there is no job."""


def history(look: Look, wanted: Filter, sees: Iterable[str] = ()) -> History:
    """Of the repositories that somebody `sees`; empty for all. The newest first."""
    seen = tuple(sees)
    spaces = (wanted.space,) if wanted.space and (not seen or wanted.space in seen) else seen
    state = JobState(wanted.state) if wanted.state in set(JobState) else None
    is_search = bool(wanted.words.strip())
    found, older = (_searched if is_search else _listed)(look, wanted, spaces, state)
    fields = {"q": wanted.words, "space": wanted.space, "state": wanted.state, "before": older}
    address = f"/history?{urlencode({name: value for name, value in fields.items() if value})}"
    return History(
        filter=wanted,
        jobs=tuple(
            Found(
                job=job,
                state=state_of(job),
                cost=cost_text(costs.of_job(look.connection, job.id)),
                places=tuple(_place(job, hit) for hit in found[job.id]),
            )
            for job in jobs.of_ids(look.connection, found)
        ),
        spaces=tuple(name for name in look.settings.repositories if not seen or name in seen),
        states=tuple((state, state_in_words(state)) for state in JobState),
        older=address if older else "",
        nothing=_nothing(wanted, is_older=bool(older)),
    )


Jobs = tuple[Mapping[int, tuple[Hit, ...]], int]
"""Jobs, each with where something was found in it, and the number that older ones are below; 0 where there are none."""


def _listed(look: Look, wanted: Filter, spaces: tuple[str, ...], state: JobState | None) -> Jobs:
    numbers = job_history.numbers(
        look.connection, spaces=spaces, state=state, before=wanted.before, limit=A_PAGE + 1
    )
    shown = numbers[:A_PAGE]
    return dict.fromkeys(shown, ()), shown[-1] if len(numbers) > A_PAGE else 0


def _searched(look: Look, wanted: Filter, spaces: tuple[str, ...], state: JobState | None) -> Jobs:
    match = match_expression(wanted.words)
    if not match:
        return {}, 0
    found = search.find(
        look.connection, match, spaces=spaces, state=state, before=wanted.before, limit=A_PAGE
    )
    return found.jobs, found.older


def _place(job: Job, hit: Hit) -> Place:
    return Place(name=place_of(hit), url=_url(job, hit), pieces=hit.pieces)


def _url(job: Job, hit: Hit) -> str:
    page = f"/jobs/{job.id}"
    match hit.kind:
        case HitKind.ISSUE:
            return page
        case HitKind.FINDING:
            return f"{page}/checks"
        case HitKind.TRANSCRIPT:
            first = (hit.turn - 1) // TURNS_A_PAGE * TURNS_A_PAGE
            return f"{page}/transcript?{urlencode({'session': hit.source, 'first': first})}#turn-{hit.turn}"


def _nothing(wanted: Filter, *, is_older: bool) -> str:
    words = wanted.words[:MOST_CHARS]
    if words.strip() and not match_expression(words):
        return "There is no word to find in that: type letters or digits, and more than what to leave out."
    if is_older:
        return "None among the newest places with these words; older ones may be."
    return "No job is like that."
