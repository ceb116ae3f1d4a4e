"""A discovery in words: everything for a session, and for a person the few questions that are asked next."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.discovery.bank import questions
from overlord.domain.discovery.outcome import ARCHITECTURE_HEADINGS, VISION_HEADINGS
from overlord.domain.discovery.question import (
    Confidence,
    Discovery,
    Kind,
    ProjectKind,
    Question,
    RepositoryState,
    Status,
)
from overlord.domain.discovery.reply import accept
from overlord.domain.discovery.text import for_person, for_session, title

FRESH = Discovery(kind=ProjectKind.API, state=RepositoryState.DOCS_ONLY, questions=questions(ProjectKind.API))
READ = Question(
    id="users.who",
    tier=1,
    section="users",
    ask="Who uses it?",
    status=Status.INFERRED,
    confidence=Confidence.MEDIUM,
    answer="Cooks\n# and guests",
    alternatives=("guests", "waiters"),
    sources=("docs/plan.md",),
)


def test_a_session_reads_everything_with_ids() -> None:
    code = replace(
        FRESH.questions[-1], from_code=True, status=Status.INFERRED, confidence=Confidence.HIGH, answer="x"
    )
    found = accept(FRESH.with_changed([READ, code]), ("success.measure",), by="cli:alice")
    text = for_session(found)
    for item in found.questions:
        assert f"### `{item.id}` (" in text
    assert "Kind of project: api. The repository is: docs_only." in text
    assert "Status: inferred, medium confidence, not looked at yet; open" in text
    assert "Status: inferred, high confidence, decided by the code, not looked at yet; settled" in text
    assert "Status: confirmed by a person, not looked at yet; settled" in text
    assert "Answer:\n> Cooks\n> # and guests\n" in text
    assert "Alternatives: guests; waiters" in text and "Source: docs/plan.md" in text
    for heading in (*VISION_HEADINGS, *ARCHITECTURE_HEADINGS):
        assert heading in text
    assert "### Storage (`architecture.storage`)\n\nDecision: …\nRationale: …\nAlternatives: …" in text


def test_a_person_reads_a_few_questions_and_how_to_answer() -> None:
    second = Question(id="conflict.1", tier=1, section="s", ask="Which?", kind=Kind.CONFLICT, default="One")
    third = replace(READ, answer="A guess", default="A proposal", confidence=Confidence.LOW, alternatives=())
    assert for_person((READ, second, third), open_count=5) == (
        "1. Who uses it?\n"
        "   Why: It was read, and nobody confirmed it.\n"
        "   Proposal: Cooks # and guests\n"
        "   Alternatives: guests; waiters\n"
        "   Source: docs/plan.md\n"
        "\n"
        "2. Which?\n"
        "   Why: Two sources say different things.\n"
        "   Proposal: One\n"
        "\n"
        "3. Who uses it?\n"
        "   Why: It was read, and is not sure.\n"
        "   Read: A guess\n"
        "   Proposal: A proposal\n"
        "   Source: docs/plan.md\n"
        "\n"
        "2 more questions after these.\n"
        "\n"
        "Accept all proposals, or answer in your own words, each answer on a line that begins with its number,\n"
        "as `1: people in the office`. Questions you leave out are asked again."
    )


def test_one_question_needs_no_number() -> None:
    gap = Question(id="gap.1", tier=2, section="s", ask="Who pays?", kind=Kind.GAP)
    text = for_person((gap,), open_count=2)
    assert "1 more question after this one." in text
    assert text.endswith("Accept the proposal, or answer in your own words.")
    assert "Why: The documents leave it open" in text and "Proposal: Not decided yet." in text
    why = for_person((replace(gap, kind=Kind.QUESTION, rationale="Somebody has to."),), open_count=1)
    assert "Why: Somebody has to." in why and "more" not in why
    assert "Why: Nothing says it yet." in for_person((replace(gap, kind=Kind.QUESTION),), open_count=1)
    assert for_person((), open_count=0) == ""


def test_tiers_without_questions_have_no_heading() -> None:
    text = for_session(Discovery(kind=ProjectKind.API, state=RepositoryState.EMPTY, questions=(READ,)))
    assert "## Tier 1" in text and "## Tier 2" not in text


def test_titles_say_how_many() -> None:
    assert title(FRESH.batch(), len(FRESH.open)) == f"3 of {len(FRESH.open)} questions about the project"
    assert title((READ, READ, READ), 11) == "3 of 11 questions about the project"
    assert title((READ,), 1) == "1 question about the project"


def test_words_of_others_are_cut_and_do_nothing() -> None:
    bad = replace(
        READ, ask="@all \u202e<b>closes #4</b>\x1b[2J\n2. x", answer="![x](http://e.example)" + "y" * 4_000
    )
    text = for_person((bad,), open_count=1)
    assert not any(part in text for part in ("\x1b", "\u202e", "<b>", "@all", "closes #4", "![", "\n2. x"))
    assert len(text) < 1_500


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_words_can_be_shown(ask: str, answer: str) -> None:
    item = replace(READ, ask=ask, answer=answer, rationale=answer, alternatives=(ask,), sources=(ask,))
    assert for_person((item,), open_count=1)
    lines = for_session(FRESH.with_changed([item])).split("\n")
    assert sum(line.startswith("### `users.who`") for line in lines) == 1
