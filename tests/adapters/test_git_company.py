"""A fetch that many wait for is made once: only by one that began after they asked, and only for what they asked."""

import pytest

from overlord.adapters.git.fetch import Fetch

ASKED = Fetch("https://forge/a/b.git", frozenset({"main"}), 10.0)


def test_one_that_began_after_it_was_asked_for_answers() -> None:
    assert ASKED.is_answered_by(Fetch(ASKED.url, ASKED.branches, 10.5))


@pytest.mark.parametrize(
    "made",
    [
        None,
        Fetch(ASKED.url, ASKED.branches, 9.9),
        Fetch(ASKED.url, frozenset({"next"}), 11.0),
        Fetch(ASKED.url, frozenset(), 11.0),
        Fetch("https://forge/a/c.git", ASKED.branches, 11.0),
    ],
)
def test_an_earlier_one_and_one_of_something_else_do_not(made: Fetch | None) -> None:
    assert not ASKED.is_answered_by(made)
