"""What a person answers: proposals that are accepted, and words that belong to the question whose number they have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.discovery.bank import KIND_QUESTION, questions
from overlord.domain.discovery.question import (
    MOST_ANSWER_CHARS,
    NOT_DECIDED,
    Discovery,
    ProjectKind,
    Question,
    RepositoryState,
    Status,
)
from overlord.domain.discovery.reply import MOST_REPLY_CHARS, UnclearAnswer, accept, reply

THREE = ("problem.need", "users.who", "success.measure")
FRESH = Discovery(kind=ProjectKind.CLI, state=RepositoryState.EMPTY, questions=questions(ProjectKind.CLI))


def _answers(found: Discovery, ids: tuple[str, ...] = THREE) -> list[str | None]:
    asked = [found.get(identifier) for identifier in ids]
    return [item.answer if item and item.status is Status.ANSWERED else None for item in asked]


def _question(found: Discovery, identifier: str) -> Question:
    asked = found.get(identifier)
    assert asked is not None
    return asked


def test_accepting_takes_what_is_proposed() -> None:
    found = accept(FRESH, ("success.measure", "users.who", "no.such"), by="cli:alice")
    measured, who = _question(found, "success.measure"), _question(found, "users.who")
    assert (measured.status, measured.by) == (Status.CONFIRMED, "cli:alice")
    assert measured.answer == _question(FRESH, "success.measure").default
    assert (who.answer, who.is_open) == (NOT_DECIDED, False)
    assert len(found.open) == len(FRESH.open) - 2


def test_accepting_leaves_what_a_person_said() -> None:
    said = reply(FRESH, ("users.who",), "Cooks", by="cli:alice")
    assert accept(said, ("users.who",), by="cli:bob") == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1: Slow queues\n2: Cooks\n3: No queue", ["Slow queues", "Cooks", "No queue"]),
        ("1. Slow queues\n2) Cooks", ["Slow queues", "Cooks", None]),
        ("3: last\n1: first", ["first", None, "last"]),
        ("1: first\ngoes on\n\nand on\n2:second", ["first\ngoes on\n\nand on", "second", None]),
        ("\r\n\r\n 1: a\r\n 2: b\r\n", ["a", "b", None]),
        ("2: from 10:30 on\n1.5 hours\n2024: a year", [None, "from 10:30 on\n1.5 hours\n2024: a year", None]),
        ("1:\n    1. a list\n    2. of two", ["1. a list\n    2. of two", None, None]),
        ("１：缓慢的队列\n２、厨师", ["缓慢的队列", "厨师", None]),
        ("١: طوابير بطيئة", ["طوابير بطيئة", None, None]),
        ("1: a\u202eb\x1b[2J", ["ab[2J", None, None]),
    ],
)
def test_each_answer_belongs_to_its_number(text: str, expected: list[str | None]) -> None:
    found = reply(FRESH, THREE, text, by="cli:alice")
    assert _answers(found) == expected
    assert {item.id for item in found.open} == {item.id for item in FRESH.open} - {
        identifier for identifier, answer in zip(THREE, expected, strict=True) if answer
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("People\n2: who cook", "People\n2: who cook"),
        ("1: People", "People"),
        ("1) People", "People"),
        ("1.5 million people", "1.5 million people"),
        ("10: too many", "10: too many"),
    ],
)
def test_one_question_takes_all_the_words(text: str, expected: str) -> None:
    assert _answers(reply(FRESH, ("users.who",), text, by="x"), ("users.who",)) == [expected]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Slow queues", "there are 3 questions, and no number says which one is answered first"),
        ("Hello\n1: a", "no number says"),
        ("0: a", "there is no question 0; they have the numbers 1 to 3"),
        ("4: a", "there is no question 4"),
        ("1: a\n1: b", "question 1 is answered twice"),
        ("1: a\n2:  ", "the answer to question 2 is empty"),
        ("", "no words"),
        ("\u200b\n \x00", "no words"),
        (f"1: {'x' * (MOST_ANSWER_CHARS + 1)}", "question 1 is too long"),
        ("x" * (MOST_REPLY_CHARS + 1), "that is too long"),
    ],
)
def test_what_cannot_be_told_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnclearAnswer, match=said) as refused:
        reply(FRESH, THREE, text, by="cli:alice")
    if "too long" not in said:
        assert "`1: people in the office`" in refused.value.worded(lambda ref: ref.name)


def test_one_question_needs_words_too() -> None:
    with pytest.raises(UnclearAnswer, match="empty") as refused:
        reply(FRESH, ("users.who",), "1:", by="cli:alice")
    assert refused.value.worded(lambda ref: ref.name).endswith("answer it in words")


@pytest.mark.parametrize("ids", [(), ("no.such",), ("users.who", "no.such")])
def test_questions_that_are_gone_take_no_answer(ids: tuple[str, ...]) -> None:
    with pytest.raises(UnclearAnswer, match="not asked any more"):
        reply(FRESH, ids, "1: a", by="cli:alice")


def test_the_kind_in_words_brings_its_questions() -> None:
    fresh = Discovery(
        kind=ProjectKind.OTHER, state=RepositoryState.EMPTY, questions=questions(ProjectKind.OTHER)
    )
    assert reply(fresh, (KIND_QUESTION,), "An API", by="x").kind is ProjectKind.API
    assert accept(fresh, (KIND_QUESTION,), by="x").kind is ProjectKind.OTHER


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["1:", "2.", "3)", "4:", "\n", " ", "    ", "1：", "²:", "٣:", "\x85", "\u2028", "\r"]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map("".join)


@given(_PIECES, st.sampled_from([THREE, THREE[:1], THREE[:2], ()]))
def test_any_text_is_answers_or_is_refused(text: str, ids: tuple[str, ...]) -> None:
    try:
        found = reply(FRESH, ids, text, by="x")
    except UnclearAnswer as error:
        assert str(error)
        return
    answered = [answer for answer in _answers(found, ids) if answer is not None]
    assert answered and all(answer.strip() for answer in answered)
    assert found.to_json()
