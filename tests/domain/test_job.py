"""The table of legal moves is DESIGN's, word for word; what is not in it cannot happen."""

from itertools import product

import pytest

from overlord.domain.event import EventName as E
from overlord.domain.job import OPEN, TERMINAL, TRANSITIONS, JobState, branch_name, next_state, state_diagram
from overlord.domain.job import JobState as S
from overlord.errors import IllegalMove
from tests.records import BASE, HEAD, a_job

TABLE = {
    (S.QUEUED, E.SESSION_STARTED): S.RUNNING,
    (S.QUEUED, E.DISPATCH_REFUSED): S.WAITING,
    (S.RUNNING, E.WORK_SUBMITTED): S.EVALUATING,
    (S.RUNNING, E.SESSION_LOST): S.QUEUED,
    (S.RUNNING, E.SESSION_STOPPED_SHORT): S.WAITING,
    (S.RUNNING, E.ESCALATED): S.QUEUED,
    (S.RUNNING, E.ESCALATION_RESOLVED): S.QUEUED,
    (S.RUNNING, E.ROLE_COMPLETED): S.QUEUED,
    (S.RUNNING, E.PHASE_COMPLETED): S.QUEUED,
    (S.RUNNING, E.GATE_REJECTED): S.QUEUED,
    (S.RUNNING, E.GATE_REACHED): S.WAITING,
    (S.RUNNING, E.QUESTIONS_ASKED): S.WAITING,
    (S.RUNNING, E.PASSED): S.DELIVERING,
    (S.EVALUATING, E.PASSED): S.DELIVERING,
    (S.EVALUATING, E.ROLE_COMPLETED): S.QUEUED,
    (S.EVALUATING, E.PHASE_COMPLETED): S.QUEUED,
    (S.EVALUATING, E.ESCALATED): S.QUEUED,
    (S.EVALUATING, E.REVISION_ORDERED): S.QUEUED,
    (S.EVALUATING, E.GATE_REACHED): S.WAITING,
    (S.EVALUATING, E.QUESTIONS_ASKED): S.WAITING,
    (S.EVALUATING, E.FAILED): S.WAITING,
    (S.EVALUATING, E.ATTEMPTS_SPENT): S.WAITING,
    (S.EVALUATING, E.CHECKS_UNAVAILABLE): S.WAITING,
    (S.DELIVERING, E.DELIVERED): S.IN_REVIEW,
    (S.DELIVERING, E.DELIVERY_REFUSED): S.WAITING,
    (S.IN_REVIEW, E.CHANGES_REQUESTED): S.QUEUED,
    (S.IN_REVIEW, E.CI_FAILED): S.QUEUED,
    (S.IN_REVIEW, E.CONFLICT_FOUND): S.QUEUED,
    (S.IN_REVIEW, E.ROUNDS_SPENT): S.WAITING,
    (S.IN_REVIEW, E.REBASED): S.EVALUATING,
    (S.IN_REVIEW, E.FOREIGN_PUSH_FOUND): S.EVALUATING,
    (S.WAITING, E.WORK_RESUMED): S.QUEUED,
    (S.WAITING, E.CHANGES_REQUESTED): S.QUEUED,
    (S.WAITING, E.FOREIGN_PUSH_FOUND): S.EVALUATING,
    (S.WAITING, E.SCOPE_GRANTED): S.EVALUATING,
    (S.WAITING, E.CHECKS_RESTORED): S.EVALUATING,
    (S.WAITING, E.DELIVERY_RETRIED): S.DELIVERING,
    (S.WAITING, E.GATE_APPROVED): S.DELIVERING,
    (S.WAITING, E.GATE_REJECTED): S.QUEUED,
    (S.WAITING, E.ROLE_COMPLETED): S.QUEUED,
    (S.WAITING, E.PHASE_COMPLETED): S.QUEUED,
    (S.WAITING, E.ESCALATED): S.QUEUED,
    (S.WAITING, E.GATE_REACHED): S.WAITING,
    (S.WAITING, E.QUESTIONS_ASKED): S.WAITING,
    (S.WAITING, E.CONTRACT_EDITED): S.EVALUATING,
}
FROM_ANY_OPEN = {
    E.MERGED: S.COMPLETED,
    E.PLAN_ACCEPTED: S.COMPLETED,
    E.CALL_ENDED: S.COMPLETED,
    E.STOPPED: S.CANCELLED,
    E.DROPPED: S.CANCELLED,
    E.TAKEN_OVER: S.CANCELLED,
    E.ISSUE_CLOSED: S.CANCELLED,
    E.UNLABELLED: S.CANCELLED,
    E.PR_CLOSED: S.CANCELLED,
    E.LIFETIME_EXCEEDED: S.FAILED,
    E.TERMINATED: S.FAILED,
}
WHOLE = TABLE | {(state, event): target for state in OPEN for event, target in FROM_ANY_OPEN.items()}


@pytest.mark.parametrize(("state", "event"), sorted(WHOLE))
def test_every_move_of_the_design_is_made(state: JobState, event: E) -> None:
    assert next_state(state, event) is WHOLE[state, event]


@pytest.mark.parametrize(("state", "event"), sorted(set(product(JobState, E)) - WHOLE.keys()))
def test_every_other_move_is_refused(state: JobState, event: E) -> None:
    with pytest.raises(IllegalMove, match=f"a {state} job cannot take {event}"):
        next_state(state, event)


def test_the_table_holds_nothing_else() -> None:
    assert dict(TRANSITIONS) == WHOLE


def test_a_closed_job_stays_closed() -> None:
    assert {S.COMPLETED, S.CANCELLED, S.FAILED} == TERMINAL
    assert [move for move in TRANSITIONS if move[0] in TERMINAL] == []
    assert [state for state in JobState if a_job(state=state).is_open] == [s for s in JobState if s in OPEN]


def test_every_state_can_be_reached_and_every_open_one_left() -> None:
    assert {S.QUEUED, *TRANSITIONS.values()} == set(JobState)
    assert {state for state, _ in TRANSITIONS} == OPEN


def test_the_diagram_draws_every_move_once() -> None:
    drawn = set()
    for line in state_diagram().splitlines()[2:]:
        ends, _, events = line.strip().partition(": ")
        start, _, end = ends.partition(" --> ")
        drawn |= {(start, event, end) for event in events.split(" · ")}
    expected = {(str(state), str(event), str(target)) for (state, event), target in TABLE.items()}
    expected |= {("any_open", str(event), str(target)) for event, target in FROM_ANY_OPEN.items()}
    expected |= {(str(state), "", "[*]") for state in TERMINAL}
    assert drawn == expected
    assert state_diagram().startswith("stateDiagram-v2\n    [*] --> queued: claimed\n")


def test_a_branch_is_named_for_its_issue_and_numbered_when_older_ones_are_left() -> None:
    assert [branch_name(7), branch_name(7, 1), branch_name(7, 2)] == [
        "minion/issue-7",
        "minion/issue-7-2",
        "minion/issue-7-3",
    ]


def test_a_job_names_its_issue_as_the_forge_does() -> None:
    assert a_job().issue_ref == "acme/calc#7"


def test_a_phases_work_is_measured_from_where_the_phase_began() -> None:
    assert a_job().phase_base == ""
    assert a_job(base_sha=BASE).phase_base == BASE
    assert a_job(base_sha=BASE, phase_sha=HEAD).phase_base == HEAD
