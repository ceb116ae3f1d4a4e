"""Documents: the name they are kept by, the file that people edit, and what of it is read."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from overlord.domain.knowledge.document import name_of, read, tags_of, title_of, written
from overlord.domain.knowledge.file_text import BrokenFileError
from overlord.domain.knowledge.note import MOST_DOCUMENT_CHARS, Note, NoteKind, NoteSource, NoteState
from overlord.domain.portfolio.files import layout

AT = datetime(2026, 11, 28, 2, 30, tzinfo=UTC)
DOCUMENT = Note(
    id=12,
    space="acme/shop",
    kind=NoteKind.DECISION,
    text="# How invoices are rounded\n\nEach line, half up.\n\n---\n\nNot the total.",
    question="",
    state=NoteState.ACTIVE,
    source=NoteSource(),
    actor="mcp:ada",
    created_at=AT,
    updated_at=AT,
    document="rounding.md",
    tags=("billing", "money"),
)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("rounding", "rounding.md"),
        ("rounding.md", "rounding.md"),
        ("Release Notes", "release-notes.md"),
        ("notes.txt", "notes.txt.md"),
        ("v1.2_plan", "v1.2-plan.md"),
        ("READ.MD", "read.md"),
    ],
)
def test_a_name_always_ends_in_md(given: str, name: str) -> None:
    assert name_of(given) == name
    assert layout.is_prose(layout.document("acme/shop", name))
    assert layout.is_prose(layout.document("", name))


@pytest.mark.parametrize(
    "given",
    [
        "../x",
        "a/b",
        "a\\b",
        "..",
        ".",
        ".hidden",
        "a..b",
        "",
        " ",
        "x\0y",
        "é",
        "x" * 80,
        "-x",
        "/etc/passwd",
    ],
)
def test_a_name_that_leaves_or_is_none_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="filename must be a name without directories"):
        name_of(given)
    with pytest.raises(ValueError, match="can be no"):
        layout.document("acme/shop", f"{given}/../x.md")


def test_tags_are_kept_once_in_small_letters() -> None:
    assert tags_of(["Billing", " billing ", "half  up"]) == ("billing", "half up")


@pytest.mark.parametrize("given", [[""], ["x" * 41], ["a\nb\x1b"], ["a\u202e"], [str(i) for i in range(21)]])
def test_what_can_be_no_tag_is_refused(given: list[str]) -> None:
    with pytest.raises(ValueError, match="tags: "):
        tags_of(given)


def test_the_file_of_a_document_says_where_it_comes_from() -> None:
    assert written(DOCUMENT, "mcp:ada, session s1").startswith(
        "---\n"
        'title: "How invoices are rounded"\n'
        'kind: "decision"\n'
        'tags: ["billing", "money"]\n'
        'space: "acme/shop"\n'
        'source: "mcp:ada, session s1"\n'
        'written_at: "2026-11-28T02:30:00+00:00"\n'
        'actor: "mcp:ada"\n'
        'note: "n12"\n'
        "---\n\n# How invoices are rounded\n"
    )


def test_a_file_that_was_written_is_read_as_it_was() -> None:
    found = read(written(DOCUMENT, 'a "quote"\nkind: pattern').encode())
    assert (found.text, found.kind, found.tags) == (DOCUMENT.text, DOCUMENT.kind, DOCUMENT.tags)


def test_a_file_of_a_person_needs_no_head() -> None:
    found = read(b"\xef\xbb\xbf# Runbook\r\n\r\nRestart it.\r\n", kind=NoteKind.CONVENTION, tags=("a",))
    assert (found.text, found.kind, found.tags) == ("# Runbook\n\nRestart it.", NoteKind.CONVENTION, ("a",))


def test_a_document_without_a_heading_is_called_by_its_name() -> None:
    assert title_of(replace(DOCUMENT, text="Each line, half up.")) == "rounding"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("## Rounding ##", "Rounding"),
        ("# #5 is wrong", "5 is wrong"),
        ("# ###", "rounding"),
        ("#  \n\n# Money", "Money"),
        (f"# a{' #' * (MOST_DOCUMENT_CHARS * 5)}b", f"a{' #' * 59}…"),
    ],
)
def test_a_title_is_its_first_heading(heading: str, title: str) -> None:
    """The last is not timed: what takes the square of it would not come to an end within the time a test has."""
    assert title_of(replace(DOCUMENT, text=heading)) == title


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfe", "no UTF-8"),
        (b"---\nkind: [\n---\n\ntext", "cannot be read as YAML"),
        (b"---\n- a\n---\n\ntext", "must be names with values"),
        (b"---\nkind: rumour\n---\n\ntext", "kind must be one of"),
        (b"---\ntags: billing\n---\n\ntext", "tags: a list of words"),
        (b"---\nkind: decision\n---\n\n", "no words"),
        (b"x" * (MOST_DOCUMENT_CHARS + 1), "at most 100,000"),
        (b"a token: ghp_" + b"Zk4Wq8Rt2Lm6Np0Xs5Vb9Cd3Fg7Hj1Ky4QwE", "looks like a secret"),
        ("Read\u200bthis".encode(), "cannot see"),
    ],
)
def test_what_cannot_be_read_is_told(content: bytes, why: str) -> None:
    with pytest.raises(BrokenFileError, match=why):
        read(content)
