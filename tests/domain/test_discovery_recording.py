"""What an architect records: read strictly, looked up in the files it names, and never in place of a person's or the code's word."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.discovery.bank import KIND_QUESTION, questions
from overlord.domain.discovery.question import (
    MOST_QUESTIONS,
    Confidence,
    Discovery,
    Kind,
    ProjectKind,
    Question,
    RepositoryState,
    Status,
)
from overlord.domain.discovery.recording import (
    MOST_BYTES,
    MOST_NEW,
    Recorded,
    RecordingError,
    read_recording,
    record,
)
from overlord.domain.discovery.reply import reply

TEXTS = {
    "README.md": "# Calc\n\nIt is for people\n  who  count in the head.\n",
    "plan/documents/brief.txt": "Es ist für Köche gedacht, die rechnen müssen.",
}
FRESH = Discovery(kind=ProjectKind.CLI, state=RepositoryState.HAS_CODE, questions=questions(ProjectKind.CLI))


def _question(found: Discovery, identifier: str) -> Question:
    asked = found.get(identifier)
    assert asked is not None
    return asked


def _with_code(answer: str = "Python", identifier: str = "architecture.language") -> Discovery:
    asked = _question(FRESH, identifier)
    fact = replace(
        asked,
        status=Status.INFERRED,
        confidence=Confidence.HIGH,
        answer=answer,
        default="",
        rationale="",
        sources=("pyproject.toml",),
        from_code=True,
    )
    return FRESH.with_changed([fact])


def _recorded(
    *items: Mapping[str, Any],
    new: tuple[Mapping[str, Any], ...] = (),
    on: Discovery = FRESH,
    texts: Mapping[str, str] = TEXTS,
) -> Recorded:
    text = json.dumps({"answers": items, "questions": new}).encode()
    return record(on, read_recording(text), texts)


def test_a_quote_that_is_there_spares_the_question() -> None:
    said = {
        "id": "users.who",
        "answer": "People who count",
        "confidence": "high",
        "source": "README.md",
        "quote": "for people who count in\nthe head",
    }
    found = _recorded(said)
    asked = _question(found.discovery, "users.who")
    assert (asked.status, asked.confidence, asked.sources) == (
        Status.INFERRED,
        Confidence.HIGH,
        ("README.md",),
    )
    assert (asked.is_open, asked.recorded, asked.proposed) == (False, True, "People who count")
    assert found.accepted == ("users.who: recorded with high confidence, and nobody is asked",)
    assert found.refused == ()


@pytest.mark.parametrize(
    ("source", "quote", "said"),
    [
        (
            "README.md",
            "for people who cook and count",
            "README.md does not contain the quote; copy its words",
        ),
        ("README.md", "It", "a quote has 8 characters or more"),
        ("README.md", "", "high confidence needs a `source` and a `quote`"),
        ("", "for people who count", "high confidence needs a `source`"),
        ("READNE.md", "for people who count", "no file READNE.md that can be read; did you mean README.md?"),
        ("../../etc/passwd", "root:x:0:0:root", "there is no file ../../etc/passwd that can be read"),
    ],
)
def test_high_confidence_that_nothing_shows_is_low(source: str, quote: str, said: str) -> None:
    found = _recorded(
        {"id": "users.who", "answer": "Cooks", "confidence": "high", "source": source, "quote": quote}
    )
    asked = _question(found.discovery, "users.who")
    assert (asked.confidence, asked.is_open, asked.answer) == (Confidence.LOW, True, "Cooks")
    assert said in found.accepted[0] and "taken down from high" in found.accepted[0]
    assert asked.sources == (() if source != "README.md" or len(quote) > 8 else ("README.md",))


def test_less_than_high_is_kept_as_it_is_and_asked() -> None:
    quoted = {"source": "plan/documents/brief.txt", "quote": "für Köche gedacht"}
    found = _recorded(
        {
            "id": "users.who",
            "answer": "Köche",
            "confidence": "medium",
            "default": "Köche und Gäste",
            **quoted,
        },
        {"id": "problem.need", "answer": "?", "source": "nowhere.md"},
    )
    asked = _question(found.discovery, "users.who")
    assert (asked.confidence, asked.is_open) == (Confidence.MEDIUM, True)
    assert (asked.proposed, asked.sources) == ("Köche und Gäste", ("plan/documents/brief.txt",))
    assert "its source was left out: there is no file nowhere.md" in found.accepted[1]


def test_what_nothing_says_is_looked_at_and_stays_open() -> None:
    found = _recorded({"id": "users.who", "default": "Everybody"}, {"id": "style.conventions"})
    who, style = _question(found.discovery, "users.who"), _question(found.discovery, "style.conventions")
    assert (who.status, who.recorded, who.proposed) == (Status.GAP, True, "Everybody")
    assert (style.recorded, style.default) == (True, _question(FRESH, "style.conventions").default)
    assert {item.id for item in FRESH.questions} - {item.id for item in found.discovery.unrecorded} == {
        "users.who",
        "style.conventions",
    }
    again = _recorded(
        {
            "id": "users.who",
            "answer": "Who counts",
            "confidence": "high",
            "source": "README.md",
            "quote": "It is for people",
        },
    ).discovery
    assert _recorded({"id": "users.who"}, on=again).accepted == ("users.who: kept as it is",)


def test_an_id_nobody_knows_is_refused_with_the_nearest() -> None:
    found = _recorded({"id": "user.who", "answer": "x"}, {"id": "\u202e", "answer": "x"})
    assert found.refused[0] == "user.who: there is no such question; the nearest is users.who"
    assert "\u202e" not in found.refused[1]
    assert found.discovery == FRESH
    nothing = Discovery(kind=ProjectKind.OTHER, state=RepositoryState.EMPTY, questions=())
    assert _recorded({"id": "a"}, on=nothing).refused == ("a: there is no such question",)


def test_what_is_recorded_twice_counts_once() -> None:
    found = _recorded({"id": "users.who", "answer": "one"}, {"id": "users.who", "answer": "two"})
    assert _question(found.discovery, "users.who").answer == "one"
    assert found.refused == ("users.who: it is recorded twice; the first is kept",)


def test_a_persons_answer_stays() -> None:
    said = reply(FRESH, ("users.who",), "Cooks", by="cli:alice")
    found = _recorded(
        {
            "id": "users.who",
            "answer": "People",
            "confidence": "high",
            "source": "README.md",
            "quote": "for people who count",
        },
        on=said,
    )
    assert _question(found.discovery, "users.who") == replace(_question(said, "users.who"), recorded=True)
    assert "a person answered it, and that stays" in found.refused[0]
    assert "add a conflict" in found.refused[0]


@pytest.mark.parametrize(
    "answer", ["Python 3.12, typed", "It is written in Python", "python", "the language"]
)
def test_what_agrees_with_the_code_changes_no_answer(answer: str) -> None:
    found = _recorded({"id": "architecture.language", "answer": answer}, on=_with_code())
    asked = _question(found.discovery, "architecture.language")
    assert (asked.answer, asked.is_open, asked.recorded) == ("Python", False, True)
    assert found.accepted == ("architecture.language: what the code says is kept: Python",)
    assert asked.rationale == answer


def test_a_reason_for_what_the_code_says_is_kept() -> None:
    said = {"id": "architecture.language", "rationale": "The team knows it.", "alternatives": ["Go", " "]}
    asked = _question(_recorded(said, on=_with_code()).discovery, "architecture.language")
    assert (asked.answer, asked.rationale, asked.alternatives) == ("Python", "The team knows it.", ("Go",))


@pytest.mark.parametrize("answer", ["Go", "We move from Python to Go", "Rust", "蟒蛇"])
def test_what_contradicts_the_code_is_asked_about(answer: str) -> None:
    said = {
        "id": "architecture.language",
        "answer": answer,
        "confidence": "high",
        "source": "README.md",
        "quote": "# Calc It is",
    }
    found = _recorded(said, on=_with_code())
    kept = _question(found.discovery, "architecture.language")
    assert (kept.answer, kept.is_open, kept.recorded) == ("Python", False, True)
    conflict = _question(found.discovery, "conflict.1")
    assert (conflict.kind, conflict.is_open, conflict.proposed) == (Kind.CONFLICT, True, "Python")
    assert f"The code says “Python” (pyproject.toml); README.md says “{answer}”" in conflict.ask
    assert (conflict.alternatives, conflict.sources) == ((answer,), ("README.md",))
    assert found.refused == (
        "architecture.language: the code says Python, and that stays. conflict.1: added, and a person is asked",
    )
    again = _recorded(said, on=found.discovery)
    assert again.discovery == found.discovery, "it is asked once"
    assert "conflict.1: this is asked already" in again.refused[0]


def test_new_questions_get_ids_and_are_added_once() -> None:
    new = {
        "kind": "conflict",
        "section": "scope",
        "tier": 1,
        "ask": "Both say a number: which?",
        "default": "One",
    }
    gap = {
        "kind": "gap",
        "section": "money",
        "ask": "Who pays for it?",
        "source": "README.md",
        "quote": "It is for people",
    }
    found = _recorded(
        new=(new, {**new, "ask": "both say  A NUMBER, which"}, gap, {**gap, "ask": "Who else pays?"})
    )
    added = [item for item in found.discovery.questions if item not in FRESH.questions]
    assert [item.id for item in added] == ["conflict.1", "gap.1", "gap.2"]
    assert all(item.is_open and item.recorded for item in added)
    assert added[1].sources == ("README.md",)
    assert found.accepted[1] == "conflict.1: this is asked already, and was not added again"
    assert found.discovery.open[-1].tier == 3 and added[0] in found.discovery.open[:8]
    known = _recorded(new=({**gap, "ask": "WHO uses it?"},))
    assert known.accepted == ("users.who: this is asked already, and was not added again",)


def test_a_source_that_does_not_say_so_is_left_out() -> None:
    gap = {
        "kind": "gap",
        "section": "money",
        "ask": "Who pays for it?",
        "source": "README.md",
        "quote": "Cooks pay",
    }
    found = _recorded(new=(gap, {**gap, "ask": "…?!…!…"}))
    assert _question(found.discovery, "gap.1").sources == ()
    assert "README.md does not contain the quote" in found.accepted[0]
    assert found.refused == ("a question without words is none",)


def test_no_more_than_so_many_questions_are_added() -> None:
    asked = tuple({"kind": "decision", "section": "s", "ask": f"Question {n}?"} for n in range(MOST_NEW))
    full = _recorded(new=asked)
    assert len(full.discovery.questions) == len(FRESH.questions) + MOST_NEW
    more = _recorded(new=({"kind": "gap", "section": "s", "ask": "One more?"},), on=full.discovery)
    assert "“One more?” was not added: 20 questions were added" in more.refused[0]
    contradicted = full.discovery.with_changed([_question(_with_code(), "architecture.language")])
    found = _recorded({"id": "architecture.language", "answer": "Go"}, on=contradicted)
    assert _question(found.discovery, "architecture.language").answer == "Python"
    assert found.refused[0].startswith("“") and "and that stays." in found.refused[1]
    many = FRESH.with_changed(
        Question(id=f"x{n}", tier=3, section="s", ask=f"x{n}")
        for n in range(MOST_QUESTIONS - len(FRESH.questions))
    )
    more = _recorded(new=({"kind": "gap", "section": "s", "ask": "One more?"},), on=many)
    assert "120 questions at most" in more.refused[0]


def test_an_architect_that_is_sure_of_the_kind_brings_its_questions() -> None:
    fresh = Discovery(
        kind=ProjectKind.OTHER, state=RepositoryState.EMPTY, questions=questions(ProjectKind.OTHER)
    )
    texts = {"vision.md": "We want a mobile app for cooks."}
    said = {
        "id": KIND_QUESTION,
        "answer": "A mobile app",
        "confidence": "high",
        "source": "vision.md",
        "quote": "a mobile app",
    }
    assert _recorded(said, on=fresh, texts=texts).discovery.kind is ProjectKind.MOBILE
    assert _recorded(said, on=fresh).discovery.kind is ProjectKind.OTHER, "its source is not there"


def test_hidden_characters_are_not_kept() -> None:
    found = _recorded(
        {"id": "users.who", "answer": "a\u202eb\x1b[2J\x00"},
        new=({"kind": "gap", "section": "\u200b", "ask": "Why\u202e not?"},),
    )
    assert _question(found.discovery, "users.who").answer == "ab[2J"
    added = _question(found.discovery, "gap.1")
    assert (added.ask, added.section) == ("Why not?", "gap")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Invalid JSON"),
        (b"[" * 100_000, "Invalid JSON"),
        (b"\xff\xfe", "Invalid JSON"),
        (b"[]", "should be an object"),
        (b"{}", "it records nothing"),
        (b'{"item": []}', "item: there is no such key"),
        (
            b'{"answers": [{"id": "a", "confidence": "sure"}]}',
            "answers.0.confidence: Input should be 'low', 'medium' or 'high'",
        ),
        (b'{"questions": [{"kind": "question", "section": "s", "ask": "What?"}]}', "questions.0.kind"),
        (b'{"questions": [{"kind": "gap", "section": "s", "ask": "What?", "tier": 4}]}', "questions.0.tier"),
        (json.dumps({"answers": [{"id": "a", "answer": "x" * 5_000}]}).encode(), "at most 4000 characters"),
        (b" " * (MOST_BYTES + 1), "400,001 bytes long; 400,000 are the most"),
    ],
)
def test_what_cannot_be_read_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        read_recording(text)


def test_every_problem_is_said_at_once() -> None:
    with pytest.raises(RecordingError) as refused:
        read_recording(
            b'{"answers": [{"answer": 1}, {"id": "a", "more": 1}], "questions": [{"kind": "gap"}]}'
        )
    lines = str(refused.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "answers.0.id",
        "answers.0.answer",
        "answers.1.more",
        "questions.0.section",
        "questions.0.ask",
    ]
    with pytest.raises(RecordingError, match="and 10 more"):
        read_recording(json.dumps({"answers": [{} for _ in range(40)]}).encode())


def test_large_files_are_looked_through_once() -> None:
    texts = {"big.md": "a b\n" * 1_000_000 + "the  very end"}
    found = _recorded(
        *(
            {"id": item.id, "answer": "x", "confidence": "high", "source": "big.md", "quote": "the very end"}
            for item in FRESH.questions
        ),
        texts=texts,
    )
    assert len(found.accepted) == len(FRESH.questions)
    assert all(item.confidence is Confidence.HIGH for item in found.discovery.questions)


_WORDS = st.text(max_size=30)
_ITEM = st.fixed_dictionaries(
    {"id": st.one_of(_WORDS, st.sampled_from([item.id for item in FRESH.questions]))},
    optional={
        "answer": _WORDS,
        "confidence": st.sampled_from(["low", "medium", "high"]),
        "source": st.one_of(_WORDS, st.sampled_from(list(TEXTS))),
        "quote": _WORDS,
        "rationale": _WORDS,
        "alternatives": st.lists(_WORDS, max_size=3),
        "default": _WORDS,
    },
)
_NEW = st.fixed_dictionaries(
    {"kind": st.sampled_from(["conflict", "gap", "decision"]), "section": _WORDS, "ask": _WORDS},
    optional={"default": _WORDS, "source": _WORDS, "quote": _WORDS, "tier": st.integers(0, 4)},
)


@given(st.lists(_ITEM, max_size=4), st.lists(_NEW, max_size=3))
def test_any_recording_is_kept_or_refused_with_a_word_on_each_part(
    items: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    known = _with_code()
    try:
        read = read_recording(json.dumps({"answers": items, "questions": new}).encode())
    except RecordingError as error:
        assert str(error)
        return
    found = record(known, read, TEXTS)
    assert len(found.accepted) + len(found.refused) >= len(items) + len(new)
    assert _question(found.discovery, "architecture.language").answer == "Python"
    assert found.discovery.to_json()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with pytest.raises(RecordingError):
        read_recording(text)
