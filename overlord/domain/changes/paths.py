"""What a path is by its name alone: a test, configuration that decides what is tested, or a file only a person may approve.

The one place that knows. What is put back as at base, what is linted with base's rules and what goes to a person
all follow from these tables; names are compared without case, because some file systems do.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from overlord.domain.scope.check import Change

_TEST_DIRECTORIES = frozenset({"tests", "test", "__tests__", "spec", "specs"})
_TEST_FILE = re.compile(
    r"(?i:test_.*\.pyi?|.*_tests?\.py|test(?!able|bed|er|imon|ing)\w*\.py)"
    r"|(?i:.*\.(?:test|spec)\.[cm]?[jt]sx?|.*_test\.(?:go|dart|exs?|rb)|.*_spec\.rb)"
    r"|\w*Tests?\.(?:java|kt|cs|swift|php)"
)


class Guard(StrEnum):
    """Why a person must see a change to a file, whatever the checks say."""

    TEST_CONFIGURATION = "test-configuration"
    PACKAGING = "packaging"
    CONTINUOUS_INTEGRATION = "ci"
    OWNERS = "codeowners"
    LOCK_FILE = "lock-file"
    CONTAINER = "container"
    HOOK = "hook"
    AGENT_INSTRUCTIONS = "agent-instructions"


_LINT = (
    ".flake8",
    ".pylintrc",
    "pylintrc",
    ".ruff.toml",
    "ruff.toml",
    ".mypy.ini",
    "mypy.ini",
    "pyrightconfig.json",
    ".eslintrc*",
    "eslint.config.*",
    "biome.json",
    ".golangci.y*ml",
)
_SHARED = ("pyproject.toml", "setup.cfg", "tox.ini")
"""Files where many tools have a section each."""
_TESTING = (
    "conftest.py",
    ".pytest.ini",
    "pytest.ini",
    ".pytest.toml",
    "pytest.toml",
    "tox.toml",
    "noxfile.py",
    ".coveragerc",
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.y*ml",
    "jest.config.*",
    "vitest.config.*",
    "karma.conf.*",
    "phpunit.xml*",
)
_MACHINERY = (
    ".github/workflows/*",
    ".github/actions/*",
    ".github/dependabot.y*ml",
    ".gitlab-ci.y*ml",
    ".gitlab/ci/*",
    ".circleci/*",
    ".buildkite/*",
    ".woodpecker*",
    ".travis.y*ml",
    ".drone.y*ml",
    ".ci/*",
    "appveyor.y*ml",
    "azure-pipelines*.y*ml",
    "bitbucket-pipelines.y*ml",
    "cloudbuild.y*ml",
    "jenkinsfile*",
    "renovate.json*",
)
_LOCKS = (
    "*.lock",
    "*.lockb",
    "*.lockfile",
    "*-lock.json",
    "*-lock.y*ml",
    "npm-shrinkwrap.json",
    "go.sum",
    "requirements*.txt",
    "requirements/*.txt",
    "constraints*.txt",
    "pipfile",
    "package.json",
)
_CONTAINERS = (
    "dockerfile*",
    "*.dockerfile",
    "containerfile*",
    "compose*.y*ml",
    "docker-compose*.y*ml",
)
_HOOKS = (
    ".pre-commit-config.y*ml",
    ".pre-commit-hooks.y*ml",
    ".husky/*",
    ".githooks/*",
    "githooks/*",
    "lefthook.y*ml",
    ".lefthook.y*ml",
    ".gitattributes",
    ".gitconfig",
    ".lfsconfig",
    ".envrc",
    ".mise.toml",
    "mise.toml",
    ".mise/*",
    ".autoenv*",
    ".vscode/*",
    "*.code-workspace",
    ".idea/*",
    ".fleet/*",
    ".zed/*",
    ".devcontainer/*",
    ".devcontainer.json",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
)
_FOR_PEOPLE = ("contributing.md", "conventions.md")
"""Pages that people read as well; some agents do too."""
_AGENTS = (
    *_FOR_PEOPLE,
    "agent.md",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "skill.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules*",
    ".goosehints",
    ".aider*",
    ".mcp.json",
    "mcp.json",
    "opencode.json*",
    ".agents/*",
    ".amazonq/*",
    ".claude/*",
    ".codex/*",
    ".continue/*",
    ".cursor/*",
    ".gemini/*",
    ".junie/*",
    ".kiro/*",
    ".opencode/*",
    ".roo/*",
    ".windsurf/*",
    ".github/copilot-instructions.md",
    ".github/instructions/*",
    ".github/prompts/*",
    ".nebulus/*",
)
_GUARDS: tuple[tuple[Guard, tuple[str, ...]], ...] = (
    (Guard.AGENT_INSTRUCTIONS, _AGENTS),
    (Guard.OWNERS, ("codeowners",)),
    (Guard.CONTINUOUS_INTEGRATION, _MACHINERY),
    (Guard.HOOK, _HOOKS),
    (Guard.TEST_CONFIGURATION, (*_TESTING, *_LINT)),
    (Guard.PACKAGING, _SHARED),
    (Guard.LOCK_FILE, _LOCKS),
    (Guard.CONTAINER, _CONTAINERS),
)
_RESTORED_GUARDS = frozenset(
    {Guard.TEST_CONFIGURATION, Guard.PACKAGING, Guard.CONTINUOUS_INTEGRATION, Guard.LOCK_FILE}
)
_ACTED_ON = frozenset({Guard.HOOK, Guard.AGENT_INSTRUCTIONS})


def is_test_path(path: str) -> bool:
    """Whether a path holds a test, or what a test reads: its name says so, or a directory above it does."""
    *directories, name = path.split("/")
    named = _TEST_DIRECTORIES & {directory.casefold() for directory in directories}
    return bool(named) or _TEST_FILE.fullmatch(name) is not None


def is_test_configuration(path: str) -> bool:
    """Whether a path decides what is tested, linted or built, and with which versions."""
    return guard_of(path) in _RESTORED_GUARDS


def is_lint_configuration(path: str) -> bool:
    """Whether a path may hold the linter's settings."""
    return _matches(path, (*_LINT, *_SHARED))


def guard_of(path: str) -> Guard | None:
    """Why a change to this path must be seen by a person, or None."""
    return next((guard for guard, patterns in _GUARDS if _matches(path, patterns)), None)


def is_acted_on(path: str) -> bool:
    """Whether a developer's own agent, editor, shell or git goes by a file because of its name, without being asked to."""
    return guard_of(path) in _ACTED_ON and not _matches(path, _FOR_PEOPLE)


def restored_paths(changes: Sequence[Change]) -> tuple[str, ...]:
    """The changed paths that are tests or configuration: put back as at base when base's tests judge new code."""
    changed = {path for change in changes for path in change.paths}
    return tuple(sorted(path for path in changed if is_test_path(path) or is_test_configuration(path)))


def _matches(path: str, patterns: Sequence[str]) -> bool:
    """A pattern without `/` matches a name anywhere, one with it a directory of that name at any depth."""
    folded = path.casefold()
    name = folded.rsplit("/", 1)[-1]
    return any(
        fnmatchcase(f"/{folded}", f"*/{pattern}") if "/" in pattern else fnmatchcase(name, pattern)
        for pattern in patterns
    )
