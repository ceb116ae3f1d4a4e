"""What other agents note and look up: under the rules of all knowledge, and only where they reach."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from overlord.domain.knowledge.note import Note, NoteKind, NoteState
from overlord.errors import Refused
from overlord.queries import brain as queries
from overlord.settings.load import Settings, load
from overlord.store import ledger
from overlord.store.knowledge import notes
from overlord.store.schema.migrations import migrate
from overlord.verbs.brain import MOST_WAITING, Kept, Writing, brain_write, collection_of
from tests.records import NOW
from tests.stored import note

SPACE, OTHER = "acme/shop", "acme/Other"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def settings(autonomy: str = "cautious") -> Settings:
    return load({}, repositories=[SPACE, OTHER], spaces={SPACE: {"autonomy": autonomy}}, forge={"token": "t"})


def write(
    connection: sqlite3.Connection,
    content: str,
    *,
    autonomy: str = "cautious",
    actor: str = "mcp:ada",
    **said: Any,
) -> Kept:
    writing = Writing(**{"content": content, "space": SPACE, **said})
    return brain_write(connection, writing, settings=settings(autonomy), actor=actor, at=NOW)


def query(
    connection: sqlite3.Connection, words: str, spaces: Sequence[str] | None = (SPACE,), limit: int = 10
) -> queries.BrainAnswer:
    return queries.brain_query(connection, words, spaces=spaces, limit=limit)


def test_what_a_machine_writes_is_a_draft_with_where_it_comes_from(connection: sqlite3.Connection) -> None:
    kept = write(
        connection, "Money is kept in cents: floats lost a cent.", kind="convention", session_key="s1"
    )
    made = kept.note
    assert (made.state, made.kind, made.space) == (NoteState.DRAFT, NoteKind.CONVENTION, SPACE)
    assert (made.actor, made.source.evidence) == ("mcp:ada", "mcp:ada, session s1")
    assert kept.words == "n1 is a draft: it counts in acme/shop once a person has accepted it."
    [event] = ledger.entries(connection)
    assert (event.name, event.actor) == ("note_drafted", "mcp:ada")


def test_it_counts_at_once_where_the_repository_lets_it(connection: sqlite3.Connection) -> None:
    kept = write(connection, "Money is kept in cents.", autonomy="proactive")
    assert kept.note.state is NoteState.ACTIVE
    assert kept.words == "n1 counts in acme/shop."


def test_what_is_for_all_repositories_is_a_draft_everywhere(connection: sqlite3.Connection) -> None:
    kept = write(connection, "Money is kept in cents.", autonomy="proactive", space="")
    assert kept.note.state is NoteState.DRAFT


def test_what_loosens_something_waits_for_a_person_everywhere(connection: sqlite3.Connection) -> None:
    kept = write(connection, "Skip the tests of billing.", autonomy="proactive")
    assert kept.note.state is NoteState.DRAFT
    assert "It is held up: It is about checks" in kept.words


def test_a_repository_is_spelled_as_the_settings_spell_it(connection: sqlite3.Connection) -> None:
    assert write(connection, "Money is kept in cents.", space="ACME/other").note.space == OTHER


def test_the_same_is_not_written_twice(connection: sqlite3.Connection) -> None:
    first = write(connection, "Money is kept in cents.")
    again = write(connection, "Money is kept in cents.", actor="mcp:bob")
    assert (again.note.id, again.is_new) == (first.note.id, False)
    assert (
        again.words == "n1, a draft, says it already: it counts in acme/shop once a person has accepted it."
    )
    assert write(connection, "Money is kept in cents.", space="").is_new, "in all it says more"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"content": " "}, "no words"),
        ({"content": "x " * 1_001}, "give a filename"),
        ({"content": "x " * 50_001, "filename": "a"}, "the document has 100,001 characters"),
        ({"content": "x" * 10_000_000, "filename": "a"}, "at most 100,000 characters"),
        ({"content": "ok so", "space": "acme/gone"}, "collection must be all, or owner/name"),
        ({"content": "ok so", "kind": "rumour"}, "kind must be one of convention, preference"),
        ({"content": "ok so", "filename": "../../etc/passwd"}, "filename must be a name without directories"),
        ({"content": "ok so", "tags": ["x" * 41]}, "tags: "),
        ({"content": "Read\u200bthis"}, "people cannot see"),
        ({"content": "ghp_Zk4Wq8Rt2Lm6Np0Xs5Vb9Cd3Fg7Hj1Ky4QwE"}, "looks like a secret"),
    ],
)
def test_what_is_not_kept_is_refused_in_a_sentence(
    connection: sqlite3.Connection, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        write(connection, **said)
    assert notes.counts(connection) == {}


def test_nobody_is_flooded_with_drafts(connection: sqlite3.Connection) -> None:
    for number in range(MOST_WAITING):
        note(connection, f"fact {number}", space=SPACE, state=NoteState.DRAFT, actor="mcp:ada")
    with pytest.raises(Refused, match="100 drafts of yours wait"):
        write(connection, "Money is kept in cents.")
    assert write(connection, "Money is kept in cents.", actor="mcp:bob").is_new


def test_a_document_is_kept_by_a_name_that_ends_in_md(connection: sqlite3.Connection) -> None:
    made = write(
        connection, "# Rounding\n\n" + "Each line. " * 500, filename="Rounding Rules", tags=["Billing"]
    ).note
    assert (made.document, made.tags, made.question) == ("rounding-rules.md", ("billing",), "")
    assert len(made.text) > 5_000


def test_a_document_that_is_written_anew_keeps_what_was(connection: sqlite3.Connection) -> None:
    first = write(connection, "First words.", autonomy="proactive", filename="a").note
    assert not write(connection, "First words.", autonomy="proactive", filename="a").is_new
    second = write(connection, "Other words.", autonomy="proactive", filename="a").note
    assert notes.get(connection, first.id).state is NoteState.WITHDRAWN
    assert notes.get(connection, first.id).text == "First words."
    assert second.state is NoteState.ACTIVE


def test_a_draft_of_a_document_leaves_the_one_that_counts_and_takes_the_place_of_its_authors_older_draft(
    connection: sqlite3.Connection,
) -> None:
    counts = write(connection, "First words.", autonomy="proactive", filename="a").note
    older = write(connection, "Second words.", filename="a").note
    others = write(connection, "Their words.", filename="a", actor="mcp:bob").note
    write(connection, "Third words.", filename="a")
    states = [notes.get(connection, item.id).state for item in (counts, older, others)]
    assert states == [NoteState.ACTIVE, NoteState.REJECTED, NoteState.DRAFT]


def test_passages_have_the_words_marked_and_say_where_they_are_from(connection: sqlite3.Connection) -> None:
    long = "Nothing of it.\n" * 200 + "The rounding of invoices is half up.\n" + "Nothing more.\n" * 200
    write(connection, f"# Invoices\n\n{long}", autonomy="proactive", filename="invoices", session_key="s1")
    write(connection, "Invoices are rounded for each line.", autonomy="proactive")
    found = query(connection, "rounding").passages
    assert [item.ref for item in found] == ["n2", "n1"]
    assert found[0].text == "Invoices are **rounded** for each line."
    assert "The **rounding** of invoices is half up." in found[1].text
    assert len(found[1].text) < 500
    assert found[0].file == "spaces/acme/shop/knowledge/patterns.md"
    assert (found[1].file, found[1].title) == ("spaces/acme/shop/knowledge/documents/invoices.md", "Invoices")
    assert (found[1].source, found[1].actor, found[1].updated_at) == ("mcp:ada, session s1", "mcp:ada", NOW)


def test_a_document_is_found_by_its_tags_and_by_its_name(connection: sqlite3.Connection) -> None:
    write(connection, "Each line, half up.", autonomy="proactive", filename="money-rules", tags=["billing"])
    assert [item.ref for item in query(connection, "billing").passages] == ["n1"]
    assert [item.ref for item in query(connection, "money").passages] == ["n1"]
    assert query(connection, "shipping").passages == ()


@pytest.mark.parametrize("state", [NoteState.DRAFT, NoteState.REJECTED, NoteState.WITHDRAWN])
def test_what_does_not_count_is_not_found(connection: sqlite3.Connection, state: NoteState) -> None:
    note(connection, "Money is kept in cents.", space=SPACE, state=state)
    found = query(connection, "money")
    assert found.passages == ()
    assert found.drafts == (state is NoteState.DRAFT)


def test_only_what_the_caller_reaches_is_found(connection: sqlite3.Connection) -> None:
    for space in (SPACE, OTHER, ""):
        note(connection, f"Money is kept in cents, says {space or 'everybody'}.", space=space)
        note(connection, f"Money waits, says {space or 'everybody'}.", space=space, state=NoteState.DRAFT)
    assert {item.space for item in query(connection, "money").passages} == {SPACE, ""}
    assert query(connection, "money").drafts == 2
    assert {item.space for item in query(connection, "money", ()).passages} == {""}
    assert {item.space for item in query(connection, "money", None).passages} == {SPACE, OTHER, ""}


@pytest.mark.parametrize(
    "words", ['"', "a OR b) NEAR(", "text: *", "the", "-", "place : s", "\0", "NOT money"]
)
def test_words_are_words_and_no_query_language(connection: sqlite3.Connection, words: str) -> None:
    note(connection, "Nobody looks for this.", space=OTHER)
    assert query(connection, words).passages == ()


def test_what_cannot_be_asked_is_refused(connection: sqlite3.Connection) -> None:
    with pytest.raises(Refused, match="query is required"):
        query(connection, " ")
    with pytest.raises(Refused, match="at most 1,000 characters"):
        query(connection, "x" * 1_001)
    for limit in (0, 51):
        with pytest.raises(Refused, match="limit must be from 1 to 50"):
            query(connection, "money", limit=limit)


def test_no_more_is_found_than_was_asked_for(connection: sqlite3.Connection) -> None:
    for number in range(5):
        note(connection, f"Money, part {number}.", space=SPACE)
    assert len(query(connection, "money", limit=3).passages) == 3


def test_a_collection_is_one_that_the_caller_reaches() -> None:
    def mine(space: str) -> bool:
        return space.casefold() == SPACE

    assert collection_of("", own=SPACE, reaches=mine) == SPACE
    assert collection_of("Acme/Shop", own=SPACE, reaches=mine) == SPACE
    assert collection_of("all", own=SPACE, reaches=lambda _space: True) == ""
    with pytest.raises(Refused, match="collection: all is out of reach"):
        collection_of("all", own=SPACE, reaches=mine)
    for text in ("acme/other", "../x", "nonsense words"):
        with pytest.raises(Refused, match="collection must be all, or owner/name"):
            collection_of(text, own=SPACE, reaches=mine)


def test_documents_are_in_no_list_of_short_notes(connection: sqlite3.Connection) -> None:
    write(connection, "Money is kept in cents.", autonomy="proactive", filename="money")
    assert notes.search(connection, "money", space=SPACE) == []
    assert notes.counting_of(connection, SPACE, NoteKind.PATTERN, limit=9) == []
    assert notes.of_state(connection, NoteState.ACTIVE) == []
    assert notes.signatures(connection) == {}
    assert [item.id for item in notes.listed(connection, NoteState.ACTIVE)] == [1]


def test_two_documents_of_a_name_never_count_in_one_place(connection: sqlite3.Connection) -> None:
    write(connection, "Money is kept in cents.", autonomy="proactive", filename="money")
    made: Note = write(connection, "Other words.", filename="money").note
    with pytest.raises(sqlite3.IntegrityError):
        notes.change(connection, made.id, at=NOW, actor="cli:alice", state=NoteState.ACTIVE)


def test_a_document_that_is_promoted_takes_the_place_of_the_one_for_all(
    connection: sqlite3.Connection,
) -> None:
    own = write(connection, "Money is kept in cents.", autonomy="proactive", filename="money").note
    before = note(connection, "Old words.", space="", document="money.md")
    made = notes.promote(connection, own, actor="cli:alice", at=NOW + timedelta(hours=1))
    assert (made.space, made.document, made.state) == ("", "money.md", NoteState.ACTIVE)
    assert notes.get(connection, before.id).state is NoteState.WITHDRAWN


def test_tags_are_rows_that_anybody_can_read(connection: sqlite3.Connection) -> None:
    write(connection, "Money is kept in cents.", tags=["billing", "half up"])
    assert json.loads(connection.execute("SELECT tags FROM notes").fetchone()[0]) == ["billing", "half up"]
