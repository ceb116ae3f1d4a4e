"""An initiative is planned: its own issue is opened once, and from then on each planning is a job on it."""

import sqlite3
from datetime import datetime

from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.job import JobState
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.text.plain import plain_line
from overlord.errors import Refused
from overlord.store import jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.portfolio import facts, initiatives
from overlord.verbs import commands

MOST_TITLE = 100
_TOLD = (
    "Overlord plans this. A lead reads the repository and proposes a plan with its tasks; nothing is worked on before a person approves "
    "that. Each task becomes an issue of its own."
)


def plan_issue(initiative: Initiative) -> tuple[str, str]:
    """Title and text of an initiative's own issue."""
    title = plain_line(initiative.title, limit=MOST_TITLE) or "Untitled"
    return title, f"{initiative.goal.strip()}\n\n{_TOLD}".strip()


def request_plan(
    connection: sqlite3.Connection, initiative: Initiative, *, actor: str, at: datetime, reason: str = ""
) -> Initiative:
    """Have an initiative planned, or planned anew; `reason` says why. What is asked for already is not asked for twice.

    Raises Refused where a job plans it already, or its repository cannot be found.
    """
    if initiative.has_ended:
        raise Refused(f"{initiative.ref} is {initiative.state}: there is nothing to plan any more")
    facts.mark_processed(connection, initiative.space, initiative.issue_number)
    if initiative.issue_number is not None and initiative.issue_request_id is not None:
        issue_requests.try_again(connection, initiative.issue_request_id)
    changes: dict[str, object] = {"state": InitiativeState.PLANNING, "waits": ""}
    if initiative.plan_digest:
        changes["replan"] = reason or initiative.replan
    if initiative.issue_number is not None:
        commands.work_on(connection, initiative.space, initiative.issue_number, actor=actor, at=at)
    elif not _is_asked(connection, initiative):
        request = issue_requests.request(
            connection,
            space=initiative.space,
            kind=RequestKind.PLAN,
            title=plan_issue(initiative)[0],
            body=plan_issue(initiative)[1],
            options=RequestOptions(initiative=initiative.id),
            actor=actor,
            at=at,
        )
        changes["issue_request_id"] = request.id
    return initiatives.change(connection, initiative.id, at=at, actor=actor, reason=reason, **changes)


def _is_asked(connection: sqlite3.Connection, initiative: Initiative) -> bool:
    """Whether its issue is about to be opened."""
    if initiative.issue_request_id is None:
        return False
    request = issue_requests.get(connection, initiative.issue_request_id)
    return request.issue_number is None and not request.is_refused


def plan_anew(
    connection: sqlite3.Connection, initiative: Initiative, *, actor: str, words: str, at: datetime
) -> Initiative:
    """A person has an initiative planned, or planned anew. Raises Refused."""
    if initiative.state is InitiativeState.PROPOSED:
        raise Refused(f"{initiative.ref} is only proposed: approve it first")
    if initiative.state is InitiativeState.PAUSED:
        raise Refused(f"{initiative.ref} is paused: let it go on first")
    if initiative.issue_number is not None:
        live = jobs.live_for(connection, initiative.space, initiative.issue_number)
        if live is not None and live.state is not JobState.WAITING:
            raise Refused(f"job {live.id} plans {initiative.ref} already: {live.issue_ref}")
    reason = plain_line(words, limit=500) or "a person has it planned anew"
    return request_plan(connection, initiative, actor=actor, at=at, reason=reason)
