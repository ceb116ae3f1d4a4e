"""What people answered about the portfolio, and what follows."""

from dataclasses import replace

import pytest

from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.portfolio.cycle.action import Applied, ChangeInitiative, ChangeTask, SettleConflict
from overlord.domain.portfolio.cycle.triggers import triggers
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import TaskState
from tests.portfolio_views import a_task, a_view, an_initiative, at_work
from tests.records import a_decision

S, T = InitiativeState, TaskState


def answer(subject: Subject, verb: Verb, about: str = "i1.1") -> Decision:
    state = DecisionState.ANSWERED
    return a_decision(
        job_id=None, subject=subject, verb=verb, about=about, state=state, answered_by="slack:U1"
    )


@pytest.mark.parametrize(
    ("subject", "verb", "before", "after"),
    [
        (Subject.INITIATIVE, Verb.APPROVE, S.PROPOSED, S.QUEUED),
        (Subject.INITIATIVE, Verb.REJECT, S.PROPOSED, S.CANCELLED),
        (Subject.INITIATIVE, Verb.REJECT, S.ACTIVE, None),
        (Subject.PLANNING_ENDED, Verb.RETRY, S.PAUSED, S.QUEUED),
        (Subject.PLANNING_ENDED, Verb.DROP, S.PAUSED, S.CANCELLED),
        (Subject.PLANNING_ENDED, Verb.RETRY, S.ACTIVE, None),
    ],
)
def test_answers_about_an_initiative(
    subject: Subject, verb: Verb, before: InitiativeState, after: InitiativeState | None
) -> None:
    decision = answer(subject, verb, "i1")
    *changed, applied = triggers(a_view(initiatives=[an_initiative(state=before)], answered=[decision]))
    assert applied == Applied(decision=decision)
    assert [item.state for item in changed if isinstance(item, ChangeInitiative)] == (
        [after] if after else []
    )
    assert all(isinstance(item, ChangeInitiative) and item.actor == "slack:U1" for item in changed)


@pytest.mark.parametrize(
    ("subject", "verb", "before", "after"),
    [
        (Subject.TASK_ENDED, Verb.RETRY, T.PENDING, None),
        (Subject.TASK_ENDED, Verb.DROP, T.PENDING, T.CANCELLED),
        (Subject.STALE_TASK, Verb.RETRY, T.PENDING, None),
        (Subject.STALE_TASK, Verb.DROP, T.PENDING, T.CANCELLED),
        (Subject.TASK_MERGED, Verb.ACCEPT, T.IN_PROGRESS, T.DONE),
        (Subject.TASK_MERGED, Verb.ONE_MORE, T.IN_PROGRESS, T.PENDING),
        (Subject.TASK_MERGED, Verb.DROP, T.IN_PROGRESS, T.CANCELLED),
        (Subject.TASK_MERGED, Verb.ONE_MORE, T.DONE, None),
        (Subject.TASK_ENDED, Verb.DROP, T.DONE, None),
    ],
)
def test_answers_about_a_task(
    subject: Subject, verb: Verb, before: TaskState, after: TaskState | None
) -> None:
    decision = answer(subject, verb)
    *changed, applied = triggers(a_view(a_task(state=before), answered=[decision]))
    assert applied == Applied(decision=decision)
    assert [item.state for item in changed if isinstance(item, ChangeTask)] == ([after] if after else [])


def test_who_accepts_merged_work_says_so_of_each_criterion_that_is_left() -> None:
    done, _ = triggers(a_view(at_work(), answered=[answer(Subject.TASK_MERGED, Verb.ACCEPT)]))
    assert isinstance(done, ChangeTask) and done.notes == "Merged; accepted by slack:U1."
    assert [(item.number, item.evidence) for item in done.addressed] == [
        (1, "accepted by slack:U1"),
        (2, "accepted by slack:U1"),
    ]


def test_an_answer_about_what_is_no_more_is_carried_out_by_doing_nothing() -> None:
    decision = answer(Subject.TASK_ENDED, Verb.DROP, "i9.9")
    assert list(triggers(a_view(answered=[decision]))) == [Applied(decision=decision)]


def test_answers_that_others_carry_out_are_left_to_them() -> None:
    assert list(triggers(a_view(answered=[answer(Subject.ESCALATED, Verb.REPLY, "e1")]))) == []


def test_what_a_person_says_of_contradicting_notes_counts_in_their_place() -> None:
    decision = replace(answer(Subject.CONFLICT, Verb.REPLY, "n3 n12"), answer="Tabs everywhere.")
    settled, applied = triggers(a_view(answered=[decision]))
    assert settled == SettleConflict(notes=(3, 12), text="Tabs everywhere.", actor="slack:U1")
    assert applied == Applied(decision=decision)


def test_contradicting_notes_that_are_both_kept_change_nothing() -> None:
    decision = answer(Subject.CONFLICT, Verb.KEEP, "n3 n12")
    assert list(triggers(a_view(answered=[decision]))) == [Applied(decision=decision)]
