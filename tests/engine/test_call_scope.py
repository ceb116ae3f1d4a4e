"""What a call's session may write: the directory and the paths stand for themselves, whatever letters they have."""

import pytest

from minion.protocol import Scope
from overlord.domain.disciplines.call import Call, CallId
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.engine.disciplines.dispatch import scope_of
from tests.records import NOW, REPO

D = DisciplineName
ODD = ["", "#work", "!work", "a[b]", "two words", "sub/#x"]


def scope(discipline: DisciplineName, directory: str = "", **arguments: str) -> Scope:
    """As a session is given it: written, and read again."""
    call = Call(
        id=CallId(1),
        discipline=discipline,
        space=REPO,
        session_key="",
        actor="mcp:ada",
        arguments=arguments,
        directory=directory,
        created_at=NOW,
    )
    return Scope.parse(scope_of(call).to_json())


@pytest.mark.parametrize("directory", ODD)
@pytest.mark.parametrize("name", ["new.py", "#new.py", "!new.py"])
def test_a_red_writes_tests_in_its_directory_and_the_one_it_names(directory: str, name: str) -> None:
    inside = f"{directory}/" if directory else ""
    found = scope(D.TDD_RED, directory, test_path=name)
    assert found.allows(f"{inside}tests/test_a.py")
    assert found.allows(f"{inside}{name}")
    assert not found.allows(f"{inside}calc.py")
    assert not directory or not found.allows("tests/test_a.py")


@pytest.mark.parametrize("directory", ODD)
@pytest.mark.parametrize("discipline", [D.TDD_GREEN, D.TDD_REFACTOR])
@pytest.mark.parametrize("name", ["check.py", "#check.py", "!check.py"])
def test_a_green_and_a_refactor_write_code_in_their_directory_and_not_the_test(
    discipline: DisciplineName, directory: str, name: str
) -> None:
    inside = f"{directory}/" if directory else ""
    found = scope(discipline, directory, test_path=name, impl_path="calc.py")
    assert found.allows(f"{inside}calc.py")
    assert not found.allows(f"{inside}{name}")
    assert found.allows(f"{inside}tests/test_a.py") is (discipline is D.TDD_GREEN)
    assert not directory or not found.allows("calc.py")


@pytest.mark.parametrize("directory", ODD)
@pytest.mark.parametrize("name", ["docs/spec.md", "#spec.md", "!docs/spec.md"])
def test_a_specification_is_written_at_its_path_alone(directory: str, name: str) -> None:
    inside = f"{directory}/" if directory else ""
    found = scope(D.SPEC, directory, output_path=name)
    assert found.allows(f"{inside}{name}")
    assert not found.allows(f"{inside}other.md")


@pytest.mark.parametrize("directory", ["app", "app[1]", "a*", "!app", "#app", "my app", "app?"])
def test_a_call_in_a_directory_writes_there_alone(directory: str) -> None:
    red = scope(D.TDD_RED, directory, test_path="check[a].py")
    assert red.allows(f"{directory}/tests/test_a.py")
    assert red.allows(f"{directory}/check[a].py")
    assert not red.allows(f"{directory}/checka.py")
    refactor = scope(D.TDD_REFACTOR, directory, test_path="check[a].py")
    assert refactor.allows(f"{directory}/a.py")
    assert not refactor.allows(f"{directory}/tests/test_a.py")
    assert not refactor.allows(f"{directory}/check[a].py")
    green = scope(D.TDD_GREEN, directory, test_path="check[a].py")
    assert green.allows(f"{directory}/a.py")
    assert not green.allows(f"{directory}/check[a].py")
    spec = scope(D.SPEC, directory, output_path="docs/*.md")
    assert spec.allows(f"{directory}/docs/*.md")
    assert not spec.allows(f"{directory}/docs/a.md")
    for found in (red, refactor, green, spec):
        assert not found.allows("app1/tests/test_a.py")
        assert not found.allows("abc/tests/test_a.py")
