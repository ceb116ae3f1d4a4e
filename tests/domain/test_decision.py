"""A decision is bound to what was shown, and every subject a job can wait for has wording and answers."""

from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.answers import label_of
from overlord.domain.decision import DecisionKind, DecisionState, Subject, Verb
from overlord.domain.question import ask
from tests.records import HEAD, NOW, a_decision, a_job

SHOWN: dict[str, Any] = {
    "id": 2,
    "kind": DecisionKind.DECISION,
    "subject": Subject.BUDGET,
    "title": "another title",
    "body": "another body",
    "verbs": (Verb.DROP,),
    "options": ("left", "right"),
    "patterns": ("src/**",),
    "blocks": "the space",
    "head_sha": HEAD,
}
ASKED_ELSEWHERE = {
    *(Subject.QUESTION, Subject.SCOPE_REQUEST),
    *(Subject.PROPOSAL, Subject.RESTING_PROPOSAL, Subject.SKILL_DRAFT),
    *(Subject.ESCALATED, Subject.INITIATIVE, Subject.DISCOVERED_TASK, Subject.NOTE, Subject.NOTE_PROMOTION),
    *(Subject.STALE_TASK, Subject.TASK_ENDED, Subject.TASK_MERGED, Subject.PLANNING_ENDED, Subject.CONFLICT),
}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_change_to_anything_shown_makes_another_digest(name: str) -> None:
    decision = a_decision()
    assert replace(decision, **{name: SHOWN[name]}).digest != decision.digest


def test_the_order_of_what_is_shown_counts() -> None:
    one, other = a_decision(verbs=(Verb.RETRY, Verb.DROP)), a_decision(verbs=(Verb.DROP, Verb.RETRY))
    assert one.digest != other.digest


def test_answering_does_not_change_what_was_shown() -> None:
    decision = a_decision()
    answered = replace(
        decision, state=DecisionState.ANSWERED, verb=Verb.DROP, answer="Drop it", answered_by="cli:alice"
    )
    assert answered.digest == decision.digest


def test_a_digest_is_short_enough_to_read_out() -> None:
    assert len(a_decision().digest) == 16


@pytest.mark.parametrize("subject", sorted(set(Subject) - ASKED_ELSEWHERE))
def test_everything_a_job_waits_for_is_asked_with_answers(subject: Subject) -> None:
    job = a_job(head_sha=HEAD)
    decision = ask(job, subject, "the facts", at=NOW, patterns=("src/x.py",))
    assert decision.title.startswith("acme/calc#7: ")
    assert (decision.job_id, decision.subject, decision.body) == (job.id, subject, "the facts")
    assert (decision.head_sha, decision.patterns, decision.created_at) == (HEAD, ("src/x.py",), NOW)
    assert decision.state is DecisionState.OPEN
    assert Verb.DROP in decision.verbs, "a person can always drop a job"
    assert len(set(decision.verbs)) == len(decision.verbs) > 1


def test_every_answer_has_a_button() -> None:
    labels = [label_of(verb) for verb in Verb]
    assert all(labels)
    assert len(set(labels)) == len(labels)
