"""Which texts say the same, which question was answered before, and which rule would answer too much."""

from dataclasses import replace

import pytest

from overlord.domain.decision import Subject
from overlord.domain.knowledge.known import Known, answer_of, is_known
from overlord.domain.knowledge.matching import (
    alike,
    asks_same,
    conflicts,
    has_all,
    likeness,
    question_in,
    says_same,
    words_of,
)
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.preview import DraftedRule, PastQuestion, asked_in, preview
from overlord.domain.knowledge.rule import Rule
from overlord.domain.knowledge.width import ANSWERED_BY_RULE, why_not_of, why_too_wide
from tests.records import NOW


def a_note(number: int, text: str, question: str = "", space: str = "acme/calc", **given: object) -> Note:
    made = Note(
        id=number,
        space=space,
        kind=NoteKind.CONVENTION,
        text=text,
        question=question,
        state=NoteState.ACTIVE,
        source=NoteSource(),
        actor="cli:alice",
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(made, **given)  # type: ignore[arg-type]


def a_rule(number: int, *words: str, answer: str = "Redis.", space: str = "", question: str = "") -> Rule:
    return Rule(
        id=number,
        space=space,
        question=question,
        words=words,
        answer=answer,
        actor="slack:U1",
        created_at=NOW,
    )


def test_words_are_read_in_one_spelling_without_what_is_everywhere() -> None:
    assert words_of("Should we use the ＲＥＤＩＳ caches, or don't we?") == ("redis", "cache")
    assert words_of("Python 3 or 4?") == ("python", "3", "4")
    assert words_of("") == ()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("All endpoints return data and error", "Endpoint returns data, error!", True),
        ("Always use Zod for validation", "Never use Zod for validation", False),
        ("Use Zod", "Don't use Zod", False),
        (
            "Endpoints return a data and error envelope",
            "Endpoints return a data and error envelope, also in v2",
            True,
        ),
        ("Use tabs", "Use tabs in Makefiles alone, spaces in all other files of the repository", False),
        ("", "", False),
    ],
)
def test_texts_that_say_the_same(one: str, other: str, is_same: bool) -> None:
    assert says_same(one, other) is is_same
    assert says_same(other, one) is is_same


def test_a_question_asked_in_other_words_is_the_same_and_its_opposite_is_not() -> None:
    assert asks_same("Which cache do we use for tokens?", "which cache should be used for the token?")
    assert not asks_same("Which cache do we use for tokens?", "Which cache do we not use for tokens?")
    assert likeness("cache tokens", "database rows") == 0.0


def test_a_rule_counts_where_all_its_words_are() -> None:
    assert has_all("For tokens, which cache?", ("cache", "token"))
    assert not has_all("Which cache?", ("cache", "token"))
    assert not has_all("anything", ())


def test_a_note_may_begin_with_the_question_it_answers() -> None:
    assert question_in("Which cache? Redis.") == "Which cache?"
    assert question_in("Which cache?") == ""
    assert question_in("Redis. Why? Because.") == "Redis. Why?"
    assert question_in("Redis, always.") == ""


def test_notes_that_answer_the_same_otherwise_are_in_conflict() -> None:
    one = a_note(1, "Redis.", "Which cache for tokens?")
    other = a_note(2, "Memcached everywhere.", "Which cache for tokens?", space="")
    third = a_note(3, "Redis!", "Which cache for the token?", space="acme/other")
    assert [(a.id, b.id) for a, b in conflicts([third, other, one])] == [(1, 2), (2, 3)]
    assert conflicts([one, replace(other, space="acme/calc")]) == ()


def test_what_two_repositories_noted_is_alike_and_one_repository_alone_is_not() -> None:
    one = a_note(1, "All endpoints return data and error.")
    other = a_note(2, "All endpoints return data, error.", space="acme/other")
    assert alike([one, other]) == ((one, other),)
    assert alike([one, replace(other, space="acme/calc")]) == ()
    assert alike([one, replace(other, kind=NoteKind.PATTERN)]) == ()
    assert alike([one, replace(other, space="")]) == ()


def test_of_several_rules_the_repositorys_own_goes_first_then_the_narrower_then_the_newer() -> None:
    question = "Which cache for tokens in tests?"
    general, narrow = a_rule(1, "cache", "token"), a_rule(2, "cache", "token", "test", answer="none")
    own = a_rule(3, "cache", "token", answer="own", space="acme/calc")
    newer = a_rule(4, "cache", "token", answer="newer")
    assert answer_of(question, [general, narrow], []) == Known(
        ref="r2", answer="none", by="rule r2 of slack:U1", rule_id=2
    )
    assert [known.ref for known in [answer_of(question, [general, narrow, own], [])] if known] == ["r3"]
    assert [known.ref for known in [answer_of(question, [general, newer], [])] if known] == ["r4"]


def test_a_rule_does_not_answer_the_opposite_question() -> None:
    rule = a_rule(1, "redi", "cache", question="Do we use Redis as cache?", answer="yes")
    assert answer_of("Do we not use redis as cache?", [rule], []) is None
    assert answer_of("Do we use redi as cache?", [rule], []) is not None


def test_notes_that_disagree_answer_nobody_and_the_repositorys_own_goes_before_those_of_all() -> None:
    asked = "Which cache for tokens?"
    one, other = a_note(1, "Redis.", asked), a_note(2, "Memcached.", asked)
    assert answer_of(asked, [], [one, other]) is None
    assert answer_of(asked, [], [one, replace(other, space="")]) == Known(
        ref="n1", answer="Redis.", by="note n1", note_id=1
    )
    assert answer_of(asked, [], [replace(one, contradicted_by="session:x: no")]) is None
    assert answer_of("Where do tests live?", [], [one]) is None


def test_who_answered_tells_whether_it_was_a_person() -> None:
    assert is_known("rule r1 of slack:U1")
    assert is_known("note n3")
    assert not is_known("slack:U1")


@pytest.mark.parametrize(
    "words",
    [
        ("proceed",),
        ("plan", "ready"),
        ("write", "path", "scope"),
        ("budget", "token"),
        ("approve", "merge", "pr"),
        (),
    ],
)
def test_a_rule_wide_enough_for_a_gate_is_none(words: tuple[str, ...]) -> None:
    assert why_too_wide(words)


def test_a_rule_about_something_is_one() -> None:
    assert why_too_wide(("cache", "token")) == ""


def test_rules_answer_questions_of_sessions_and_nothing_else() -> None:
    assert {subject for subject in Subject if not why_not_of(subject)} == ANSWERED_BY_RULE
    for subject in (Subject.GATE, Subject.BUDGET, Subject.SCOPE, Subject.SCOPE_REQUEST, Subject.DISCOVERY):
        assert "something else" in why_not_of(subject)


def test_a_preview_tells_what_would_have_been_answered_and_what_otherwise() -> None:
    made = DraftedRule(
        space="", question="Which cache?", words=("cache", "token"), answer="Redis.", decision_id=9
    )
    past = [
        PastQuestion(decision_id=1, space="a/b", question="which cache for tokens?", answer="redis", by="x"),
        PastQuestion(decision_id=2, space="a/b", question="token cache in CI?", answer="none at all", by="x"),
        PastQuestion(decision_id=3, space="a/b", question="which database?", answer="Postgres", by="x"),
        PastQuestion(decision_id=9, space="a/b", question="which cache for tokens?", answer="Redis.", by="x"),
    ]
    shown = preview(made, past, [a_rule(1, "cache", answer="Memcached."), a_rule(2, "cache", answer="redis")])
    assert [(item.past.decision_id, item.is_same) for item in shown.answered] == [(1, True), (2, False)]
    assert [rule.id for rule in shown.rules] == [1]
    assert shown.contradictions == 2


def test_what_is_asked_is_the_sentence_with_the_question_mark() -> None:
    assert (
        asked_in("I looked at it. Redis is there. Which cache do tokens need?")
        == "Which cache do tokens need?"
    )
    assert asked_in("Tell me the cache") == "Tell me the cache"
    assert (
        asked_in("Cache for tokens: Redis or Memcached. Right?")
        == "Cache for tokens: Redis or Memcached. Right?"
    )
