"""Who may write a path, and why: never anything else than what a session's scope would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import ScopeError
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.explanation import Ground, answer_for, explain, secret_pattern
from overlord.domain.contracts.turn import Turn
from tests.contracts import crew

PATTERNS = (
    "src/**",
    "src/api/**",
    "docs",
    "*.toml",
    "tests/*.py",
    ".github/workflows/ci.yml",
    "plan/**",
    "**",
)
PATHS = (
    *("src/api/x.py", "src/x.py", "docs/a/b.md", "pyproject.toml", "tests/test_a.py", "tests/a/b.py"),
    *(".github/workflows/ci.yml", ".github/workflows/other.yml", ".git/config", "sub/.git/x"),
    *(".nebulus/contract/contract.yaml", ".env", "plan/a.md", "deep/plan/a.md", "src", "a b.txt"),
)
MANY = st.lists(st.sampled_from(PATTERNS), max_size=3, unique=True)


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    """One role in two phases, with every way to be given a path."""
    mode = draw(st.sampled_from(("directory", "explicit", "unrestricted")))
    own, shared = [] if mode == "unrestricted" else draw(MANY), draw(MANY)
    return Contract.model_validate(
        {
            "name": "drawn",
            "version": 2,
            "shared": [{"paths": shared, "roles": ["one"]}] if shared else [],
            "secret_paths": draw(st.sampled_from(((), (".env*",), ("docs/**",)))),
            "roles": {"one": {"scope": {"mode": mode, "patterns": own}, "also_writes": draw(MANY)}},
            "phases": {
                "first": {"actors": ["one"], "outputs": draw(st.sampled_from(([], ["plan/**"], ["src/**"])))},
                "second": {"actors": ["one"], "outputs": []},
            },
        }
    )


@given(contracts(), st.sampled_from(PATHS))
def test_what_is_explained_is_what_a_session_may_write(contract: Contract, path: str) -> None:
    for answer in explain(contract, path).answers:
        turn = Turn.in_phase(contract, answer.phase, answer.role)
        try:
            is_open = turn.scope().allows(path)
        except ScopeError:
            is_open = False
        kept = secret_pattern(contract, path) is not None or answer.ground is Ground.OTHER_PLAN
        assert answer.may is (is_open and not kept), answer
        assert answer == answer_for(turn, path), "it is the same whenever it is asked"


@given(contracts(), st.sampled_from(PATHS))
def test_the_pattern_that_is_named_has_the_path(contract: Contract, path: str) -> None:
    for answer in explain(contract, path).answers:
        if answer.may and answer.ground is not Ground.ANY_FILE:
            assert answer.pattern in PATTERNS, answer


@pytest.mark.parametrize(
    ("path", "role", "phase", "ground", "pattern"),
    [
        ("src/api/x.py", "backend", "build", Ground.OWN_SCOPE, "src/api/**"),
        ("package.json", "frontend", "build", Ground.SHARED, "package.json"),
        ("Makefile", "backend", "build", Ground.ALSO_WRITES, "Makefile"),
        ("plan/a.md", "architect", "plan", Ground.PLAN, "plan/**"),
        ("plan/a.md", "backend", "build", Ground.OTHER_PLAN, ""),
        (".env.local", "backend", "build", Ground.SECRET, ".env*"),
        (".nebulus/contract/contract.yaml", "backend", "build", Ground.PROTECTED, ""),
        (".github/workflows/ci.yml", "backend", "build", Ground.UNNAMED_WORKFLOW, ""),
        ("src/web/x.ts", "backend", "build", Ground.NO_PATTERN, "src/api/**, package.json, Makefile"),
    ],
)
def test_why_a_role_may_or_may_not(path: str, role: str, phase: str, ground: Ground, pattern: str) -> None:
    [answer] = [item for item in explain(crew(), path).answers if (item.role, item.phase) == (role, phase)]
    assert (answer.ground, answer.pattern) == (ground, pattern)
    assert answer.reason and answer.may is (ground in {"own_scope", "shared", "also_writes", "plan"})


def test_roles_that_work_in_no_phase_are_named() -> None:
    found = explain(crew(), "audit/a.md")
    assert found.idle == ("auditor",) and found.writers == ()


def test_a_role_without_a_readable_scope_writes_nothing() -> None:
    drawn = {"name": "x", "version": 2, "roles": {"one": {}}, "phases": {"a": {"actors": ["one"]}}}
    [answer] = explain(Contract.model_validate(drawn), "src/x.py").answers
    assert (answer.may, answer.ground) == (False, Ground.NO_SCOPE)
    unreadable = {**drawn, "secret_paths": ["[z-a]"], "roles": {"one": {"scope": ["src/**"]}}}
    [answer] = explain(Contract.model_validate(unreadable), "src/x.py").answers
    assert answer.ground is Ground.SECRET, "what cannot be read opens nothing"
