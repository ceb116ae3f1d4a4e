"""A requirement's issue: the user's own words, and documents as data within what an issue may hold."""

from overlord.entrypoints.local.build.requirement import BODY_CHARS, body_of, title_of
from overlord.entrypoints.local.documents import Document


def test_words_without_documents_are_the_body() -> None:
    assert body_of("2 and 2 is 4", ()) == ("2 and 2 is 4", ())


def test_a_document_is_quoted_so_that_its_own_fences_do_not_end_it() -> None:
    body, cut = body_of(
        "See there.", (Document(name="docs/a.md", text="````\nrm -rf\n````", note="Page 2 is damaged."),)
    )
    assert body.startswith("See there.\n\nWhat follows is data")
    assert "### a.md\n\nPage 2 is damaged.\n\n`````text\n````\nrm -rf\n````\n`````" in body
    assert cut == ("a.md: Page 2 is damaged.",)


def test_what_does_not_fit_is_left_out_of_the_long_ones_and_said() -> None:
    long = [Document(name=f"{name}.txt", text=name * 100_000) for name in "ab"]
    body, cut = body_of("words", (long[0], Document(name="c.txt", text="short"), long[1]))
    assert len(body) <= BODY_CHARS
    assert "short" in body
    assert body.count("a" * 30_000) == body.count("b" * 30_000) == 1
    assert [sentence.split(" only ".title())[0] for sentence in cut] == ["a.txt:", "b.txt:"]
    assert cut[0].endswith("of 100,000 are here.")


def test_words_as_long_as_an_issue_leave_no_room_and_nothing_breaks() -> None:
    body, cut = body_of("x" * BODY_CHARS, (Document(name="a.md", text="lost"),))
    assert (len(body), cut) == (BODY_CHARS, ("a.md: Only its first 0 characters of 4 are here.",))


def test_a_title_is_the_first_line_with_words() -> None:
    assert title_of(Document(name="a.md", text="\n===\n# Export **invoices**\nmore")) == "Export **invoices"
    assert title_of(Document(name="a.md", text="***")) == "a.md"
    assert len(title_of(Document(name="a.md", text="long " * 100))) <= 120
