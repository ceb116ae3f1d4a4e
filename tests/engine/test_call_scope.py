"""What a call's session may write: a directory or a file is itself, whatever its letters mean in a pattern."""

import pytest

from overlord.domain.disciplines.call import Call, CallId
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.engine.disciplines.dispatch import scope_of
from tests.records import NOW, REPO


def call(discipline: DisciplineName, directory: str, **arguments: str) -> Call:
    return Call(
        id=CallId(1),
        discipline=discipline,
        space=REPO,
        session_key="",
        actor="mcp:ada",
        arguments=arguments,
        directory=directory,
        created_at=NOW,
    )


@pytest.mark.parametrize("directory", ["app", "app[1]", "a*", "!app", "#app", "my app", "app?"])
def test_a_call_in_a_directory_writes_there_alone(directory: str) -> None:
    red = scope_of(call(DisciplineName.TDD_RED, directory, test_path="check[a].py"))
    assert red.allows(f"{directory}/tests/test_a.py")
    assert red.allows(f"{directory}/check[a].py")
    assert not red.allows(f"{directory}/checka.py")
    refactor = scope_of(call(DisciplineName.TDD_REFACTOR, directory, test_path="check[a].py"))
    assert refactor.allows(f"{directory}/a.py")
    assert not refactor.allows(f"{directory}/tests/test_a.py")
    assert not refactor.allows(f"{directory}/check[a].py")
    green = scope_of(call(DisciplineName.TDD_GREEN, directory, test_path="check[a].py"))
    assert green.allows(f"{directory}/a.py")
    assert not green.allows(f"{directory}/check[a].py")
    spec = scope_of(call(DisciplineName.SPEC, directory, output_path="docs/*.md"))
    assert spec.allows(f"{directory}/docs/*.md")
    assert not spec.allows(f"{directory}/docs/a.md")
    for scope in (red, refactor, green, spec):
        assert not scope.allows("app1/tests/test_a.py")
        assert not scope.allows("abc/tests/test_a.py")
