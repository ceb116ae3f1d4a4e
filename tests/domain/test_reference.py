"""How a repository is meant: by its full name, by its own, or by nothing where there is one."""

import pytest

from overlord.domain.reference import IssueRef, JobRef, space_named, target_in
from overlord.errors import NotFound, OverlordError, Refused

CALC, OTHER, TWIN = "acme/Calc", "acme/other", "nova/calc"


@pytest.mark.parametrize(
    ("said", "repositories", "meant"),
    [
        (None, (CALC,), CALC),
        ("acme/calc", (CALC, OTHER), CALC),
        ("CALC", (CALC, OTHER), CALC),
        ("other", (CALC, OTHER, TWIN), OTHER),
        ("nova/calc", (CALC, TWIN), TWIN),
    ],
)
def test_a_repository_is_meant(said: str | None, repositories: tuple[str, ...], meant: str) -> None:
    assert space_named(said, repositories) == meant


@pytest.mark.parametrize(
    ("said", "repositories", "error", "told"),
    [
        (
            None,
            (CALC, OTHER),
            Refused,
            "say which repository, as in owner/repo; there is acme/Calc, acme/other",
        ),
        (None, (), Refused, "say which repository, as in owner/repo; there is none"),
        ("sold", (CALC,), NotFound, "no repository of that name is in Overlord's care; there is acme/Calc"),
        ("calc", (CALC, TWIN), Refused, "say which repository: acme/Calc or nova/calc"),
    ],
)
def test_what_is_not_clear_is_refused(
    said: str | None, repositories: tuple[str, ...], error: type[OverlordError], told: str
) -> None:
    with pytest.raises(error) as caught:
        space_named(said, repositories)
    assert str(caught.value) == told


def test_what_is_meant_can_be_said() -> None:
    assert str(target_in("7")) == "job 7"
    assert str(target_in("#42")) == "#42"
    assert str(target_in("acme/calc#42")) == "acme/calc#42"
    assert (target_in("7"), target_in("#7")) == (JobRef(number=7), IssueRef(number=7))
    assert target_in("seven") is None
