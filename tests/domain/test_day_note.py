"""The file of a day: Overlord's part above the mark, a person's below it, whatever is in it."""

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.portfolio.day_note import MARK, day_file

OURS = f"# 2026-03-02\n\nAll is quiet.\n\n{MARK}\n"


def test_a_new_one_ends_in_the_mark() -> None:
    assert day_file("2026-03-02", " All is quiet. \n", None).decode() == OURS


def test_what_a_person_added_is_kept_byte_for_byte() -> None:
    before = OURS.encode() + b"mine \xff\r\n"
    again = day_file("2026-03-02", "Two things wait.", before)
    assert again.startswith(b"# 2026-03-02\n\nTwo things wait.\n")
    assert again.endswith(b"\nmine \xff\r\n")


@given(st.binary(max_size=200))
def test_a_file_that_a_person_made_is_kept_whole_and_written_once(theirs: bytes) -> None:
    first = day_file("2026-03-02", "All is quiet.", theirs)
    assert first == OURS.encode() + theirs or MARK.encode() in theirs
    assert day_file("2026-03-02", "All is quiet.", first) == first
