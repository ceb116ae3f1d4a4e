"""What vision.md and architecture.md have to be: their headings, and each decision with its reason and alternatives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.discovery.outcome import (
    VISION_HEADINGS,
    decisions,
    misses,
)
from overlord.domain.discovery.question import Discovery, Kind, ProjectKind, Question, RepositoryState, Status
from overlord.domain.discovery.reply import accept
from overlord.domain.discovery.sections import compared, sections


def _decision(identifier: str, answer: str = "SQLite") -> Question:
    return Question(
        id=identifier,
        tier=2,
        section=identifier.split(".")[1],
        ask="?",
        kind=Kind.DECISION,
        status=Status.CONFIRMED,
        answer=answer,
    )


FOUND = Discovery(
    kind=ProjectKind.CLI,
    state=RepositoryState.EMPTY,
    questions=(
        _decision("architecture.storage"),
        _decision("architecture.language", "Python"),
        _decision("architecture.framework", ""),
        Question(id="users.who", tier=1, section="users", ask="?", status=Status.ANSWERED, answer="Cooks"),
    ),
)
VISION = "".join(f"## {heading}\n\nWords.\n\n" for heading in VISION_HEADINGS)
STORAGE = "### Storage (`architecture.storage`)\n\nDecision: SQLite\nRationale: One file.\nAlternatives: PostgreSQL\n\n"
LANGUAGE = """### Language (`architecture.language`)

- **Decision:** Python
- **Rationale:**
  - everybody here knows it
- __alternatives__: Go

#### More

Words.
"""
ARCHITECTURE = (
    f"Overview\n========\n\nStructure\n---------\n\n## Decisions\n\n{STORAGE}{LANGUAGE}\n## Tests\n"
)
WHOLE = {"vision.md": VISION, "architecture.md": ARCHITECTURE}


def test_whole_documents_miss_nothing() -> None:
    assert misses(FOUND, WHOLE) == ()


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_documents_have_to_be_there(text: str | None) -> None:
    files = {} if text is None else {"vision.md": text, "architecture.md": text}
    assert misses(FOUND, files) == (
        "There is no vision.md: write it, with the headings Problem, Users, Solution, Scope, Success.",
        "There is no architecture.md: write it, with the headings Overview, Structure, Decisions, Tests.",
    )


def test_each_heading_that_is_missing_is_named() -> None:
    german = "# Das Problem\n\n## Nutzer\n\n## Lösung: Scope\n"
    said = misses(FOUND, {**WHOLE, "vision.md": german + "# 1. SUCCESS:\n"})
    assert said == tuple(
        f"vision.md has no heading {heading}: add it, as `## {heading}`." for heading in VISION_HEADINGS[:4]
    )


def test_each_decision_is_named_with_reason_and_alternatives() -> None:
    text = ARCHITECTURE.replace(STORAGE, "").replace("Rationale", "Reason")
    assert misses(FOUND, {**WHOLE, "architecture.md": text}) == (
        "architecture.md does not name the decision `architecture.storage` (storage): add `### storage"
        " (`architecture.storage`)` under Decisions, with the lines Decision:, Rationale:, Alternatives: below it.",
        "architecture.md: the decision `architecture.language` has no line `Rationale: …`.",
    )


def test_every_line_of_a_decision_has_words() -> None:
    bare = STORAGE.replace("SQLite", "…").replace("One file.", "").replace("PostgreSQL", "-")
    said = misses(FOUND, {**WHOLE, "architecture.md": ARCHITECTURE.replace(STORAGE, bare)})
    assert said == (
        "architecture.md: the decision `architecture.storage` has no line `Decision: …`, and no `Rationale: …` and no"
        " `Alternatives: …`.",
    )


def test_a_decision_elsewhere_or_in_code_is_none() -> None:
    moved = ARCHITECTURE.replace(STORAGE, "") + "\n" + STORAGE
    fenced = ARCHITECTURE.replace(STORAGE, f"```\n{STORAGE}```\n")
    for text in (moved, fenced):
        assert len(misses(FOUND, {**WHOLE, "architecture.md": text})) == 1


def test_what_is_not_decided_is_no_decision() -> None:
    undecided = Question(id="a.b", tier=2, section="b", ask="?", kind=Kind.DECISION)
    found = accept(FOUND.with_changed([undecided]), ["a.b"], by="x")
    assert [item.id for item in decisions(found)] == ["architecture.storage", "architecture.language"]


@given(
    st.lists(
        st.sampled_from(
            [
                *"#=-~`\n \t",
                "```\n",
                "<!--",
                "-->",
                "Decisions",
                "`architecture.storage`",
                "\n## ",
                "Decision:",
                "x",
            ]
        )
    ).map("".join)
)
def test_any_text_is_judged(text: str) -> None:
    files = {"vision.md": text, "architecture.md": text}
    assert all(sentence.endswith(".") for sentence in misses(FOUND, files))


def test_large_texts_are_read_once() -> None:
    for piece in ("a\n=\n", "`", "<!--", "\n", "Decision:", " "):
        text = piece * (20_000_000 // len(piece))
        assert misses(FOUND, {"architecture.md": text})


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("a\n# B #\nc\n## D\n", ["", "B", "D"]),
        ("B\n=\n\nC\n---\n", ["", "C"]),
        ("=====\nBook\n=====\n\nPart\n-----\n\nMore\n~~~~\nwords\n", ["", "Book", "Part", "More"]),
        ("Part\n~~~~\n\nMore\n----\n\nPart\n~~~~\n", ["", "Part", "More", "Part"]),
        ("words\nmore words\n---\n", [""]),
        ("- item\n---\n\n> quote\n---\n\n---\n---\n", [""]),
        ("```\n# no\n```\n<!--\n# no\n-->\n# yes\n", ["", "yes"]),
        ("#no\n####### no\n#\n", ["", ""]),
        ("~~~ x\n```\n# no\n~~~ y\n~~~\n# Yes", ["", "Yes"]),
        ("``` a`b\n# Yes", ["", "Yes"]),
    ],
)
def test_headings_are_told_from_what_looks_like_them(text: str, titles: list[str]) -> None:
    assert [section.title for section in sections(text)] == titles


def test_sections_have_what_stands_below_their_heading() -> None:
    found = sections("\nfirst\n\n# A\n\none\ntwo\n\n### B\n```\n# code\n```\n")
    assert [(item.level, item.body) for item in found] == [
        (0, "first"),
        (1, "one\ntwo"),
        (3, "```\n# code\n```"),
    ]


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("1.2 Problem Statement", "problem statement"),
        ("**Users**:", "users"),
        ("3) ÜBERBLICK", "überblick"),
        ("2024 plan", "2024 plan"),
    ],
)
def test_headings_are_compared_without_marks(title: str, word: str) -> None:
    assert compared(title) == word
