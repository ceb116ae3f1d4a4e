"""Knowledge files and notes that are made to take long to read."""

import pytest

from overlord.domain.knowledge import file_text
from overlord.domain.knowledge.file_text import BrokenFileError
from overlord.domain.knowledge.vetting import tidied, vetted

BLANKS = " \t" * 200_000


def test_a_bullet_of_blanks_is_read_once() -> None:
    with pytest.raises(BrokenFileError, match="at most 2,000 are read"):
        file_text.read(f"- a{BLANKS}<!-- x\n".encode())
    [bullet] = file_text.read(f"- a{BLANKS}<!-- n12 -->{BLANKS}\n".encode()).bullets
    assert (bullet.text, bullet.number) == ("a", 12)


def test_a_note_of_blanks_is_refused_once_it_is_read() -> None:
    assert "at most" in vetted(f"a{BLANKS}b").problem
    assert tidied(f"a{BLANKS}\n  b \n") == "a\n  b"
