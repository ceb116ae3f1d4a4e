"""What people find of jobs by words: one reading for the page, the terminal, the chat and programs."""

from collections.abc import Iterable

from overlord.domain.job import JobState
from overlord.domain.search import FoundJob, SearchResults
from overlord.domain.text.search_words import match_expression
from overlord.queries.look import Look
from overlord.store import jobs, search


def found_jobs(
    look: Look, words: str, *, spaces: Iterable[str], state: JobState | None, before: int, limit: int
) -> SearchResults:
    """Of some repositories, or of all where none is named; nothing where no word is to be found in what was typed."""
    match = match_expression(words)
    if not match:
        return SearchResults(words=words, jobs=())
    found = search.find(look.connection, match, spaces=tuple(spaces), state=state, before=before, limit=limit)
    shown = tuple(
        FoundJob(
            id=job.id,
            space=job.space,
            issue_number=job.issue_number,
            call=job.call_ref,
            title=job.issue.title,
            state=job.state,
            hits=found.jobs[job.id],
        )
        for job in jobs.of_ids(look.connection, found.jobs)
    )
    return SearchResults(words=words, jobs=shown, older=found.older)
