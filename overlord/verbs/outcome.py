"""What became of a verb whose end is not known when it is given: work that was asked for, a message that is still to be read."""

import sqlite3
from dataclasses import dataclass

from overlord.command_ref import CommandRef, Hint, Word, hint, with_hint
from overlord.errors import NotFound
from overlord.store import jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.conversation import steering
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs.verb import Done

ASKED = "It is asked for; the daemon has not answered yet."
NOT_OPENED = "Its issue is not open yet."
NOT_READ = "It has not read it yet."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A sentence, and whether it is the last one."""

    text: str
    is_final: bool
    is_refused: bool = False
    hint: Hint | None = None
    """What shows how it goes on."""

    def worded(self, word: Word) -> str:
        """All of it, as an interface says it."""
        said = with_hint(self.text, self.hint, word)
        return f"{said.rstrip('.')}." if self.hint is not None else said


def outcome(connection: sqlite3.Connection, done: Done) -> Outcome | None:
    """As things stand now; None for a verb that was done when it was given. Raises NotFound."""
    if done.work_request_id is not None:
        asked = work_requests.get(connection, done.work_request_id)
        is_final = asked.state is not WorkRequestState.OPEN
        if not is_final:
            shows = hint(CommandRef("status"), " shows what it does")
            return Outcome(text=ASKED, is_final=False, hint=shows)
        return Outcome(text=asked.answer, is_final=True, is_refused=asked.state is WorkRequestState.REFUSED)
    if done.issue_request_id is not None:
        return of_issue(connection, done.issue_request_id)
    if done.message_id is not None:
        sent = steering.get(connection, done.message_id)
        is_open = jobs.get(connection, sent.job_id).is_open
        if not sent.is_under_way or not is_open:
            return Outcome(text=sent.outcome(is_open=is_open), is_final=True)
        tells = hint(CommandRef("why", (str(sent.job_id),)), " tells when it has")
        return Outcome(text=NOT_READ, is_final=False, hint=tells)
    return None


def of_issue(connection: sqlite3.Connection, number: int) -> Outcome:
    """What became of an issue that was asked for: opened and taken up, or why not. Raises NotFound."""
    asked = issue_requests.get(connection, number)
    if asked.is_refused:
        return Outcome(text=f"The issue was not opened: {asked.trouble}.", is_final=True, is_refused=True)
    if asked.issue_number is None:
        shows = hint(CommandRef("space", (asked.space,)), " shows what its repository waits for")
        return Outcome(text=NOT_OPENED, is_final=False, hint=shows)
    opened = f"{asked.space}#{asked.issue_number} is open for it."
    if asked.trouble:
        return Outcome(text=f"{opened} It was not taken up: {asked.trouble}.", is_final=True)
    answer, is_final = _taken_up(connection, asked.wish_id)
    return Outcome(text=f"{opened} {answer}".strip(), is_final=is_final)


def _taken_up(connection: sqlite3.Connection, wish_id: int | None) -> tuple[str, bool]:
    """What is said of the work on it, and whether that is the last word: a request is not kept for ever."""
    try:
        asked = work_requests.get(connection, wish_id) if wish_id is not None else None
    except NotFound:
        asked = None
    if asked is None:
        return "", True
    return asked.answer, asked.state is not WorkRequestState.OPEN
