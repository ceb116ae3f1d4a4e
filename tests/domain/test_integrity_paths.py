"""What a path is by its name."""

import pytest

from overlord.domain.changes.paths import (
    Guard,
    guard_of,
    is_acted_on,
    is_lint_configuration,
    is_test_configuration,
    is_test_path,
    restored_paths,
)
from overlord.domain.scope.check import Change


@pytest.mark.parametrize(
    "path",
    [
        "test_calc.py",
        "src/pkg/calc_test.py",
        "tests/data/x.json",
        "pkg/Tests/a.txt",
        "tests.py",
        "testcalc.py",
        "web/button.spec.ts",
        "web/__tests__/a.js",
        "calc_test.go",
        "src/CalcTest.java",
    ],
)
def test_tests_are_known_by_their_names(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "calc.py",
        "overlord/domain/checks/testruns/judge.py",
        "latest.java",
        "attest/a.py",
        "src/contest.py",
        "docs/tests.md",
    ],
)
def test_code_is_not_taken_for_a_test(path: str) -> None:
    assert not is_test_path(path)


@pytest.mark.parametrize(
    ("path", "guard"),
    [
        ("conftest.py", Guard.TEST_CONFIGURATION),
        ("tests/unit/conftest.py", Guard.TEST_CONFIGURATION),
        ("pytest.ini", Guard.TEST_CONFIGURATION),
        ("GNUmakefile", Guard.TEST_CONFIGURATION),
        ("Makefile", Guard.TEST_CONFIGURATION),
        (".Flake8", Guard.TEST_CONFIGURATION),
        ("mypy.ini", Guard.TEST_CONFIGURATION),
        ("pyproject.toml", Guard.PACKAGING),
        ("lib/setup.cfg", Guard.PACKAGING),
        (".github/workflows/ci.yml", Guard.CONTINUOUS_INTEGRATION),
        ("sub/.github/workflows/deep/ci.yml", Guard.CONTINUOUS_INTEGRATION),
        (".gitlab-ci.yml", Guard.CONTINUOUS_INTEGRATION),
        ("docs/CODEOWNERS", Guard.OWNERS),
        ("uv.lock", Guard.LOCK_FILE),
        ("web/package-lock.json", Guard.LOCK_FILE),
        ("requirements-dev.txt", Guard.LOCK_FILE),
        ("Dockerfile.dev", Guard.CONTAINER),
        ("docker-compose.override.yml", Guard.CONTAINER),
        (".pre-commit-config.yaml", Guard.HOOK),
        (".husky/pre-push", Guard.HOOK),
        (".gitattributes", Guard.HOOK),
        (".vscode/launch.json", Guard.HOOK),
        ("web/.idea/runConfigurations/a.xml", Guard.HOOK),
        ("app.code-workspace", Guard.HOOK),
        (".devcontainer/devcontainer.json", Guard.HOOK),
        ("mise.toml", Guard.HOOK),
        ("AGENTS.md", Guard.AGENT_INSTRUCTIONS),
        ("pkg/CLAUDE.md", Guard.AGENT_INSTRUCTIONS),
        (".cursor/rules/a.mdc", Guard.AGENT_INSTRUCTIONS),
        (".opencode/plugin/a.ts", Guard.AGENT_INSTRUCTIONS),
        ("opencode.jsonc", Guard.AGENT_INSTRUCTIONS),
        ("CONTRIBUTING.md", Guard.AGENT_INSTRUCTIONS),
        (".github/copilot-instructions.md", Guard.AGENT_INSTRUCTIONS),
        ("README.md", None),
        ("src/locks.py", None),
        (".github/ISSUE_TEMPLATE/bug.md", None),
    ],
)
def test_what_a_person_must_see(path: str, guard: Guard | None) -> None:
    assert guard_of(path) is guard


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".Claude/Settings.json",
        "web/.mcp.json",
        ".envrc",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        ".gitattributes",
        "AGENTS.md",
        "pkg/CLAUDE.md",
        ".codex/config.toml",
        ".gemini/settings.json",
    ],
)
def test_what_a_developers_own_tools_go_by(path: str) -> None:
    assert is_acted_on(path)


@pytest.mark.parametrize(
    "path",
    ["CONTRIBUTING.md", "CONVENTIONS.md", "calc.py", "Makefile", "uv.lock", ".github/workflows/ci.yml"],
)
def test_what_is_run_or_read_when_somebody_says_so(path: str) -> None:
    assert not is_acted_on(path)


def test_which_configuration_is_restored() -> None:
    assert is_test_configuration("tox.ini")
    assert is_test_configuration("uv.lock")
    assert not is_test_configuration("AGENTS.md")
    assert is_lint_configuration("sub/.ruff.toml")
    assert is_lint_configuration("pyproject.toml")
    assert not is_lint_configuration("conftest.py")


def test_both_ends_of_a_rename_are_restored_where_they_are_tests() -> None:
    changes = [
        Change(path="docs/a.txt", old_path="tests/test_a.py", status="R"),
        Change(path="tests/test_b.py", old_path="src/b.py", status="R"),
        Change(path="pyproject.toml", status="M"),
        Change(path="src/c.py", status="M"),
    ]
    assert restored_paths(changes) == ("pyproject.toml", "tests/test_a.py", "tests/test_b.py")
