"""How a repository is meant: by its full name, by its own, or by nothing where there is one."""

import pytest

from overlord.domain.text.reference import (
    InitiativeRef,
    IssueRef,
    JobRef,
    TaskRef,
    initiative_in,
    is_full_name,
    issue_in,
    repository_in,
    space_named,
    target_in,
    task_in,
)
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
        ("sold", (CALC,), NotFound, "no repository of that name is managed by Overlord; there is acme/Calc"),
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


def test_initiatives_and_tasks_are_named() -> None:
    assert initiative_in("i3") == initiative_in("I3") == initiative_in("3") == InitiativeRef(number=3)
    assert initiative_in("Faster-Start") == InitiativeRef(slug="faster-start")
    assert task_in("i3.4") == task_in("3.#4") == TaskRef(initiative=3, number=4)
    assert (str(initiative_in("3")), str(initiative_in("x-y")), str(task_in("3.4"))) == ("i3", "x-y", "i3.4")
    assert [initiative_in(word) for word in ("", "../x", "-x", "a b", "x" * 65, "i3.4")] == [None] * 6
    assert [task_in(word) for word in ("", "i3", "i3.", "4", "i3.4.5", "i1234567890.1")] == [None] * 6


NAMES = (
    "o/r",
    "acme/calc",
    "a-b-c/x",
    "A1/.github",
    "o/...",
    "o/a.git.x",
    "o/-",
    "o/_",
    "octo_acme/x",
    f"{'a' * 39}/{'b' * 100}",
)
ODD = ("o/..", "o/.", "./x", "../x", "o/.git", "o/x.git", "o/x.GIT", "-o/x", "o-/x", "o--o/x", "_o/x", "o_/x", "o_a_b/x", "o.o/x",
       "o/", "/x", "o", "", "o/x/y", "o/x y", "o/x\n", "o/x\u00e9", "\u043e/x", "o/x?y", "o/x#1", "o/%2e%2e", "o/..\\x", "o/x@1",
       f"{'a' * 40}/x", f"o/{'b' * 101}")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_repository_is_named_as_github_names_it(name: str) -> None:
    assert is_full_name(name)
    assert repository_in(name) == name
    assert repository_in(f"https://github.com/{name}.git") == name
    assert issue_in(f"{name}#7") == IssueRef(number=7, space=name)
    assert issue_in(f"https://github.com/{name}/issues/7") == IssueRef(number=7, space=name)


@pytest.mark.parametrize("name", ODD)
def test_any_other_name_is_none(name: str) -> None:
    assert not is_full_name(name)
    if "/" in name:
        assert repository_in(name) is None
    if name:
        assert issue_in(f"{name}#7") is None
        assert issue_in(f"https://github.com/{name}/issues/7") is None


@pytest.mark.parametrize("name", [".", "..", ".git", "x.git", ""])
def test_a_repository_without_its_owner_has_a_name_too(name: str) -> None:
    assert repository_in(name) is None
