"""Jobs found by words: in their issues, in what checks found, in what was said in their sessions.

The newest job comes first. All words have to be in one place; `"in quotes"` is a phrase, `-word` leaves out, and the last word may be the
beginning of one. Small and capital letters, and accents, are the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from overlord.domain.chat.lines import words
from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.look_argument import FilterArgument
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.job import JobState
from overlord.domain.search import FoundJob, Hit, HitKind, SearchResults
from overlord.domain.text.plain import count
from overlord.domain.text.reference import number_in
from overlord.domain.text.search_words import match_expression
from overlord.domain.view.span import Bold, Code, Issue, Span
from overlord.domain.view.view import Heading, Note, Paragraph, Part, Table, View
from overlord.errors import Refused
from overlord.queries.job_search import found_jobs
from overlord.queries.look import Look
from overlord.queries.query import Query

A_PAGE = 20
_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSearch:
    """What is looked for."""

    space: Annotated[str, FilterArgument(name="space", help="Only this repository, as owner/name.")] = ""
    state: Annotated[
        str, FilterArgument(name="state", help="Only jobs in this state.", choices=tuple(JobState))
    ] = ""
    before: Annotated[
        str, FilterArgument(name="before", help="Only jobs before this one, as a page of results says.")
    ] = ""
    words: Annotated[
        str,
        WordsArgument(
            missing="Say the words to find.", help="The words; after `--`, where one begins with a dash."
        ),
    ]


def _read(look: Look, arguments: OfSearch) -> SearchResults:
    if not match_expression(arguments.words):
        raise Refused(
            "there is no word to find in that: type letters or digits, and more than what to leave out"
        )
    before = number_in(arguments.before) if arguments.before else 0
    if before is None:
        raise Refused("`before` takes a job's number")
    space = look.space(arguments.space or None)
    return found_jobs(
        look,
        arguments.words,
        spaces=(space,) if space else (),
        state=JobState(arguments.state) if arguments.state else None,
        before=before,
        limit=A_PAGE,
    )


def _view(_look: Look, found: SearchResults) -> View:
    more = "the newest " if found.older else ""
    text = f"{more}{count(len(found.jobs), 'job')} with “{words(found.words)}”"
    summary = f"{text[:1].upper()}{text[1:]}"
    if not found.jobs:
        nothing = Paragraph(("All words have to be in one place: an issue, a check, a turn of a session.",))
        return View(summary=summary, parts=(Heading(summary), nothing, *_older(found)))
    rows = tuple(_row(item) for item in found.jobs)
    table = Table(("job", "issue", "state", "where", "what"), rows)
    return View(summary=summary, parts=(Heading(summary), table, *_older(found)))


def _older(found: SearchResults) -> Iterator[Part]:
    if found.older:
        yield Note(
            f"There may be older ones: search again with before:{found.older} (in a terminal --before {found.older})."
        )


def _row(item: FoundJob) -> tuple[tuple[Span, ...], ...]:
    about = (
        Code(f"{item.space} {item.call}")
        if item.issue_number is None
        else Issue(item.space, item.issue_number)
    )
    issue = (about, f" {words(item.title, _TITLE)}")
    best = item.hits[0]
    more = f" and {len(item.hits) - 1} more" if len(item.hits) > 1 else ""
    what = tuple(Bold(piece.text) if piece.is_match else piece.text for piece in best.pieces)
    return (str(item.id),), issue, (state_in_words(JobState(item.state)),), (f"{place_of(best)}{more}",), what


def place_of(hit: Hit) -> str:
    """Where it is, in words."""
    match hit.kind:
        case HitKind.ISSUE:
            return "issue"
        case HitKind.FINDING:
            return f"check: {words(hit.source)}"
        case HitKind.TRANSCRIPT:
            return f"{hit.source}, turn {hit.turn}"


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfSearch,
    usage="search lint failed",
    means='jobs by words of their issues, findings and transcripts, also `search state:failed "exact words" -without`',
    position=25,
)
