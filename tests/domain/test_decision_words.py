"""Yes, no and free words: which answer of which decision they are, and what is refused with what to type."""

from typing import Any

import pytest

from overlord.domain.conversation.decision_words import answer_in, confirmation, decision_verb
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.question import ask
from overlord.errors import Refused
from tests.records import NOW, a_decision, a_job

AT_THE_DOOR = {Subject.QUESTION: (Verb.REPLY,), Subject.SCOPE_REQUEST: (Verb.ONCE, Verb.GRANT, Verb.REFUSE)}
ABOUT = {
    Subject.PROPOSAL: {"proposal_id": 3, "verbs": (Verb.APPROVE, Verb.REJECT)},
    Subject.RESTING_PROPOSAL: {"proposal_id": 3, "verbs": (Verb.APPROVE,)},
    Subject.SKILL_DRAFT: {"draft_id": 3, "verbs": (Verb.APPROVE, Verb.REJECT)},
}
ABOUT_PORTFOLIO: dict[Subject, dict[str, Any]] = {
    Subject.ESCALATED: {"about": "e3", "verbs": (Verb.REPLY, Verb.DROP)},
    Subject.INITIATIVE: {"about": "i3", "verbs": (Verb.APPROVE, Verb.REJECT)},
    Subject.DISCOVERED_TASK: {"about": "i3.4", "verbs": (Verb.APPROVE, Verb.REJECT)},
    Subject.NOTE: {"about": "n3", "verbs": (Verb.APPROVE, Verb.REJECT)},
    Subject.NOTE_PROMOTION: {"about": "n3", "verbs": (Verb.APPROVE, Verb.REJECT)},
    Subject.STALE_TASK: {"about": "i3.4", "verbs": (Verb.RETRY, Verb.DROP)},
    Subject.TASK_ENDED: {"about": "i3.4", "verbs": (Verb.RETRY, Verb.DROP)},
    Subject.TASK_MERGED: {"about": "i3.4", "verbs": (Verb.ACCEPT, Verb.ONE_MORE, Verb.DROP)},
    Subject.PLANNING_ENDED: {"about": "i3", "verbs": (Verb.RETRY, Verb.DROP)},
    Subject.CONFLICT: {"about": "n3 n4", "verbs": (Verb.REPLY, Verb.KEEP)},
}


def asked(subject: Subject) -> Decision:
    if subject in ABOUT:
        return a_decision(id=5, subject=subject, **ABOUT[subject])
    if subject in ABOUT_PORTFOLIO:
        return a_decision(id=5, subject=subject, job_id=None, **ABOUT_PORTFOLIO[subject])
    if subject in AT_THE_DOOR:
        return a_decision(id=5, subject=subject, verbs=AT_THE_DOOR[subject])
    return a_decision(id=5, subject=subject, verbs=ask(a_job(), subject, "facts", at=NOW).verbs)


YES = {
    Subject.EMPTY_REPOSITORY: Verb.RETRY,
    Subject.ENVIRONMENT: Verb.RETRY,
    Subject.DEPENDENCIES: Verb.INSTALL,
    Subject.DISPATCH_REFUSED: Verb.RETRY,
    Subject.FOUND_WORK: Verb.RETRY,
    Subject.BLOCKED: Verb.RETRY,
    Subject.STOPPED_SHORT: Verb.RETRY,
    Subject.BUDGET: None,
    Subject.LOSSES: Verb.RETRY,
    Subject.MODEL: Verb.RETRY,
    Subject.UNTESTED: None,
    Subject.NO_TESTS: Verb.ACCEPT,
    Subject.NO_TOOLCHAIN: Verb.RECHECK,
    Subject.CHECKS_UNAVAILABLE: Verb.RECHECK,
    Subject.ESCALATION: Verb.ONE_MORE,
    Subject.FAILED: Verb.ONE_MORE,
    Subject.PROTECTED_CHANGE: Verb.ACCEPT,
    Subject.CHANGED_TESTS: Verb.ACCEPT,
    Subject.UNPROVEN: Verb.ACCEPT,
    Subject.SCOPE: Verb.GRANT,
    Subject.SCOPE_REQUEST: Verb.ONCE,
    Subject.SCOPE_UNKNOWN: Verb.UNRESTRICTED,
    Subject.QUESTION: None,
    Subject.DELIVERY_REFUSED: Verb.REDELIVER,
    Subject.ISSUE_EDITED: Verb.ADOPT,
    Subject.ROUNDS: Verb.ONE_MORE,
    Subject.SPACE_GONE: Verb.RETRY,
    Subject.SPACE_DOUBLED: Verb.RETRY,
    Subject.GATE: Verb.APPROVE,
    Subject.DISCOVERY: Verb.ACCEPT,
    Subject.CONTRACT_INVALID: Verb.ONE_MORE,
    Subject.EXHAUSTED: Verb.APPROVE,
    Subject.SCOPE_EXPANSION: Verb.GRANT,
    Subject.ESCALATED: None,
    Subject.INITIATIVE: Verb.APPROVE,
    Subject.DISCOVERED_TASK: Verb.APPROVE,
    Subject.NOTE: Verb.APPROVE,
    Subject.NOTE_PROMOTION: Verb.APPROVE,
    Subject.STALE_TASK: Verb.RETRY,
    Subject.TASK_ENDED: Verb.RETRY,
    Subject.TASK_MERGED: Verb.ACCEPT,
    Subject.PLANNING_ENDED: Verb.RETRY,
    Subject.CONFLICT: None,
    **dict.fromkeys(ABOUT, Verb.APPROVE),
}
NO: dict[Subject, Verb | None] = {
    **dict.fromkeys(Subject, Verb.DROP),
    Subject.SCOPE_REQUEST: Verb.REFUSE,
    Subject.QUESTION: None,
    Subject.ISSUE_EDITED: None,
    Subject.GATE: Verb.REJECT,
    Subject.INITIATIVE: Verb.REJECT,
    Subject.DISCOVERED_TASK: Verb.REJECT,
    Subject.NOTE: Verb.REJECT,
    Subject.NOTE_PROMOTION: Verb.REJECT,
    Subject.CONFLICT: Verb.KEEP,
    **dict.fromkeys(ABOUT, Verb.REJECT),
}


@pytest.mark.parametrize("subject", Subject)
@pytest.mark.parametrize("approves", [True, False])
def test_yes_and_no_stand_for_one_answer_or_are_refused(subject: Subject, approves: bool) -> None:
    decision, wanted = asked(subject), (YES if approves else NO)[subject]
    if wanted is not None:
        assert decision_verb(decision, approves=approves) is wanted
        return
    with pytest.raises(Refused, match=r"^decision 5 has no plain (yes|no)$") as caught:
        decision_verb(decision, approves=approves)
    ways = caught.value.hint.commands if caught.value.hint is not None else ()
    assert [(ref.name, *ref.arguments[:2]) for ref in ways] == [
        ("answer", "5", verb) for verb in decision.verbs
    ]


def test_a_grant_beside_another_try_takes_more_than_a_yes() -> None:
    verbs = (Verb.ONE_MORE, Verb.GRANT, Verb.DROP)
    decision = a_decision(id=5, subject=Subject.ESCALATION, verbs=verbs, patterns=("a.py",))
    with pytest.raises(Refused, match="decision 5 has no plain yes"):
        decision_verb(decision, approves=True)
    assert answer_in(decision, "grant") == (Verb.GRANT, "")


@pytest.mark.parametrize(
    ("subject", "words", "wanted"),
    [
        (Subject.BLOCKED, "retry", (Verb.RETRY, "")),
        (Subject.BLOCKED, "  Try Again ", (Verb.RETRY, "")),
        (Subject.BLOCKED, "try-again use port 8080", (Verb.RETRY, "use port 8080")),
        (Subject.BLOCKED, "use the second one", (Verb.REPLY, "use the second one")),
        (Subject.BLOCKED, "reply drop the table first", (Verb.REPLY, "drop the table first")),
        (Subject.NO_TOOLCHAIN, "take-over I do it", (Verb.TAKE_OVER, "I do it")),
        (Subject.BLOCKED, "Take over", (Verb.TAKE_OVER, "")),
        (Subject.BUDGET, "$2", (Verb.ADD_BUDGET, "$2")),
        (Subject.BUDGET, "500k tokens", (Verb.ADD_BUDGET, "500k tokens")),
        (Subject.BUDGET, "add_budget 500000", (Verb.ADD_BUDGET, "500000")),
        (Subject.QUESTION, "use the second one", (Verb.REPLY, "use the second one")),
        (Subject.QUESTION, "reply use\nboth", (Verb.REPLY, "use\nboth")),
        (Subject.QUESTION, "retry with the first", (Verb.REPLY, "retry with the first")),
        (Subject.QUESTION, "$2", (Verb.REPLY, "$2")),
        (Subject.SCOPE_REQUEST, "refuse not docs", (Verb.REFUSE, "not docs")),
        (Subject.SCOPE_UNKNOWN, "limit src/** tests/**", (Verb.LIMIT, "src/** tests/**")),
        (Subject.SCOPE_UNKNOWN, "+src/** +tests/**", (Verb.LIMIT, "+src/** +tests/**")),
        (Subject.SCOPE_UNKNOWN, "any file", (Verb.UNRESTRICTED, "")),
    ],
)
def test_words_are_one_of_the_answers(subject: Subject, words: str, wanted: tuple[Verb, str]) -> None:
    assert answer_in(asked(subject), words) == wanted


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject.LOSSES, "use the second one"),
        (Subject.BLOCKED, "grant"),
        (Subject.BLOCKED, ""),
        (Subject.BUDGET, "lots"),
        (Subject.QUESTION, "  "),
        (Subject.SCOPE_UNKNOWN, "the second one"),
    ],
)
def test_words_that_are_none_of_them_are_refused_with_those_that_are(subject: Subject, words: str) -> None:
    with pytest.raises(Refused, match=r"^decision 5 takes another answer$") as caught:
        answer_in(asked(subject), words)
    assert caught.value.worded(lambda ref: " ".join(ref.arguments)).startswith(
        "decision 5 takes another answer; say `5 "
    )


@pytest.mark.parametrize("words", ["drop the second test", "Take-over the code of it", "drop it, it is old"])
def test_words_for_the_minion_that_begin_as_another_answer_does_end_no_job(words: str) -> None:
    with pytest.raises(Refused, match="two ways") as caught:
        answer_in(asked(Subject.BLOCKED), words)
    ways = caught.value.hint.commands if caught.value.hint is not None else ()
    assert [ref.arguments for ref in ways] in (
        [("5", verb), ("5", "reply", "your words")] for verb in ("drop", "take_over")
    )


WORDED = {
    Subject.DISCOVERY,
    Subject.CONTRACT_INVALID,
    Subject.BLOCKED,
    Subject.STOPPED_SHORT,
    Subject.ESCALATION,
    Subject.FAILED,
    Subject.ROUNDS,
    Subject.SCOPE,
    Subject.PROTECTED_CHANGE,
    Subject.CHANGED_TESTS,
    Subject.UNPROVEN,
    Subject.DEPENDENCIES,
    Subject.QUESTION,
    Subject.EXHAUSTED,
    Subject.SCOPE_EXPANSION,
    Subject.ESCALATED,
    Subject.CONFLICT,
}


@pytest.mark.parametrize("subject", Subject)
def test_words_are_an_answer_where_a_session_can_go_on_with_them(subject: Subject) -> None:
    assert (Verb.REPLY in asked(subject).verbs) is (subject in WORDED)


@pytest.mark.parametrize(
    ("verb", "answer", "said"),
    [
        (Verb.REPLY, "use 8080", "Decision 5: use 8080. The next session reads it."),
        (Verb.RETRY, "use 8080.", "Decision 5: use 8080. The next session reads it."),
        (Verb.RETRY, "Try again", "Decision 5: Try again."),
        (Verb.DROP, "too risky", "Decision 5: too risky."),
    ],
)
def test_who_answers_in_words_is_told_where_they_go(verb: Verb, answer: str, said: str) -> None:
    assert confirmation(a_decision(id=5, verb=verb, answer=answer)) == said
