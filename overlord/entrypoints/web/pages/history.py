"""History: every job there was, found by its repository, its state and the words of its title."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from overlord.domain.budgets.budget import cost_text
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.job import Job, JobState
from overlord.queries.look import Look
from overlord.store import job_history
from overlord.store.budgets import costs

A_PAGE = 50
MOST_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What is looked for; empty for everything."""

    words: str = ""
    space: str = ""
    state: str = ""
    before: int = 0
    """Only jobs with a smaller number: where the page before ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One job."""

    job: Job
    state: str
    cost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The page."""

    filter: Filter
    jobs: tuple[Found, ...]
    spaces: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    older: str
    """The address of the next page; empty where there is none."""


def history(look: Look, wanted: Filter, sees: Iterable[str] = ()) -> History:
    """Of the repositories that somebody `sees`; empty for all. The newest first."""
    seen = tuple(sees)
    state = JobState(wanted.state) if wanted.state in set(JobState) else None
    found = job_history.search(
        look.connection,
        words=wanted.words[:MOST_WORDS],
        spaces=[wanted.space] if wanted.space and (not seen or wanted.space in seen) else seen,
        state=state,
        before=wanted.before,
        limit=A_PAGE + 1,
    )
    shown = found[:A_PAGE]
    older = ""
    if len(found) > A_PAGE:
        fields = {"q": wanted.words, "space": wanted.space, "state": wanted.state, "before": shown[-1].id}
        older = f"/history?{urlencode({name: value for name, value in fields.items() if value})}"
    return History(
        filter=wanted,
        jobs=tuple(
            Found(
                job=job,
                state=state_in_words(job.state),
                cost=cost_text(costs.of_job(look.connection, job.id)),
            )
            for job in shown
        ),
        spaces=tuple(name for name in look.settings.repositories if not seen or name in seen),
        states=tuple((state, state_in_words(state)) for state in JobState),
        older=older,
    )
