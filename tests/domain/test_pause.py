"""A pause says whose it is, over what, and why."""

import pytest

from overlord.domain.pause import EVERYTHING, Pause, name_of
from tests.records import NOW, REPO


@pytest.mark.parametrize(
    ("space", "reason", "what", "line"),
    [
        (EVERYTHING, "", "everything", "Everything is paused by alice"),
        (EVERYTHING, "lunch", "everything", "Everything is paused by alice: lunch"),
        (REPO, "", REPO, "acme/calc: Paused by alice"),
        (REPO, "a release", REPO, "acme/calc: Paused by alice: a release"),
    ],
)
def test_it_is_told_with_its_maker_and_reason(space: str, reason: str, what: str, line: str) -> None:
    pause = Pause(space=space, actor="cli:alice", at=NOW, reason=reason)
    assert (pause.what, pause.line) == (what, line)


def test_who_that_is_goes_without_the_mouth() -> None:
    assert [name_of(actor) for actor in ("cli:alice", "slack:U1", "overlord")] == ["alice", "U1", "overlord"]
