"""What a session may write: the scope as text, as a rule about paths, and as a verdict on a change."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Scope, ScopeError, ScopeMode, is_protected
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckScore
from overlord.domain.scope.check import Change, check_scope, droppable, effective_scope, exact_pattern

EVERYTHING = Scope.unrestricted()
STARS = Scope(patterns=("**",))


def directory(*patterns: str) -> Scope:
    return Scope.parse(json.dumps(list(patterns)))


def explicit(*patterns: str) -> Scope:
    return Scope.parse(json.dumps({"mode": "explicit", "patterns": list(patterns)}))


def changed(*paths: str) -> list[Change]:
    return [Change(path=path, status="M") for path in paths]


# Strategies: patterns people write, and paths that try to get out.

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0[\\"), min_size=1).filter(
    lambda name: name not in {".", ".."} and bool(name.strip()) and name[0] not in "!#"
)
PATTERNS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
SCOPES = st.one_of(
    st.just(EVERYTHING),
    st.builds(
        Scope,
        mode=st.sampled_from([ScopeMode.DIRECTORY, ScopeMode.EXPLICIT]),
        patterns=st.lists(PATTERNS, min_size=1, max_size=4).map(tuple),
    ),
)
CLIMBERS = st.lists(st.sampled_from(["..", ".", "src", "a.py", ".git"]), min_size=1, max_size=6).filter(
    lambda parts: ".." in parts
)


@given(SCOPES)
def test_a_scope_is_read_back_as_it_was_written(scope: Scope) -> None:
    assert Scope.parse(scope.to_json()) == scope


@given(SCOPES, CLIMBERS, st.sampled_from(["", "/"]))
def test_no_path_that_climbs_is_ever_allowed(scope: Scope, parts: list[str], start: str) -> None:
    path = start + "/".join(parts)
    assert not Scope(mode=scope.mode, patterns=(*scope.patterns, path)).allows(path)
    assert not scope.allows(path)


@given(SCOPES, st.sampled_from([".git", ".GIT", ".Git.", ".git ", "git~1", "GIT~1"]), st.booleans())
def test_no_scope_opens_a_git_directory_anywhere(scope: Scope, name: str, nested: bool) -> None:
    path = f"src/{name}/hooks/x" if nested else f"{name}/config"
    assert not Scope(mode=scope.mode, patterns=(*scope.patterns, path)).allows(path)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/x",
        ".git",
        ".git./config",
        ".git /config",
        "git~1",
        "GIT~1/hooks/post-checkout",
        "vendor/git~1/config",
        "a/.git/hooks/pre-push",
        "a/.gIt",
        "./.git/config",
        "a//.git/config",
        "/.git/config",
        ".nebulus/checks.yaml",
        ".Nebulus/checks.yaml",
        ".nebulus",
        ".nebulus./scope.yaml",
        ".NEBULUS /scope.yaml",
        ".nebulus/../calc.py",
        ".Nebulus/../calc.py",
        "src/../.git/config",
        "../calc.py",
        "..",
        "",
        ".",
        "/",
        "a\0b",
    ],
)
@pytest.mark.parametrize("scope", [EVERYTHING, STARS], ids=["unrestricted", "stars"])
def test_protected_paths_are_closed_in_every_spelling(scope: Scope, path: str) -> None:
    assert not scope.allows(path)


@pytest.mark.parametrize(
    "path", ["calc.py", "/calc.py", "./calc.py", ".gitignore", "src/.nebulus/x", "agit", ".github/x", "a/..b"]
)
def test_what_only_looks_protected_is_open(path: str) -> None:
    assert EVERYTHING.allows(path)
    assert STARS.allows(path)


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", ".github/workflows"]
)
def test_workflows_open_only_to_a_scope_that_names_them(path: str) -> None:
    assert not EVERYTHING.allows(path)
    assert not STARS.allows(path)
    assert not directory("**", ".github/**").allows(path)


@pytest.mark.parametrize(
    "patterns",
    [
        (".github/workflows/**",),
        (".github/workflows/ci.yml",),
        ("/.github/workflows/*.yml",),
        (".github/workflows",),
        (".github/workflows/",),
    ],
)
def test_a_scope_that_names_the_workflows_opens_them(patterns: tuple[str, ...]) -> None:
    assert directory(*patterns).allows(".github/workflows/ci.yml")


def test_naming_one_workflow_opens_no_other() -> None:
    scope = directory("**", ".github/workflows/ci.yml")
    assert scope.allows(".github/workflows/ci.yml")
    assert scope.allows("calc.py")
    assert not scope.allows(".github/workflows/release.yml")
    assert is_protected(".github/workflows/release.yml", scope.patterns)


def test_an_explicit_scope_names_workflows_as_files() -> None:
    scope = explicit(".github/workflows/[z-a].yml", ".github/workflows/ci.yml", "calc.py")
    assert scope.allows(".github/workflows/ci.yml")
    assert scope.allows(".github/workflows/[z-a].yml")
    assert not scope.allows(".github/workflows/release.yml")
    assert is_protected(".github/workflows/release.yml", scope.patterns)


@pytest.mark.parametrize(
    ("patterns", "inside", "outside"),
    [
        (("src/**",), ("src/a.py", "src/b/c.py"), ("src", "a.py", "lib/src/a.py")),
        (("docs",), ("docs/a.md", "docs"), ("src/docs/a.md",)),
        (("*.toml",), ("pyproject.toml",), ("src/pyproject.toml", "toml")),
        (("/src/*.py",), ("src/a.py",), ("src/b/c.txt",)),
        (("**/test_*.py",), ("test_a.py", "a/b/test_c.py"), ("a/b/c.py",)),
        (("src/[ab].py",), ("src/a.py",), ("src/c.py",)),
    ],
)
def test_directory_patterns_are_read_from_the_root(
    patterns: tuple[str, ...], inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    scope = directory(*patterns)
    assert [path for path in inside if not scope.allows(path)] == []
    assert [path for path in outside if scope.allows(path)] == []


def test_an_explicit_scope_is_exact() -> None:
    scope = explicit("src/*.py", "./calc.py", "docs")
    assert scope.allows("src/*.py")
    assert scope.allows("calc.py")
    assert not scope.allows("src/a.py")
    assert not scope.allows("docs/a.md")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("src/**", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('"src/**"', "must be a list of patterns or"),
        ("null", "must be a list of patterns or"),
        ('{"patterns": ["a"]}', "must be a list of patterns or"),
        ('{"mode": "directory", "pattern": ["a"]}', "must be a list of patterns or"),
        ('{"mode": "everything"}', "unknown mode 'everything'; known: unrestricted, directory, explicit"),
        ('{"mode": null}', "unknown mode None"),
        ('{"mode": ["directory"], "patterns": ["a"]}', "unknown mode"),
        ('{"mode": {}}', "unknown mode"),
        ("[]", "lists no patterns"),
        ('{"mode": "explicit"}', "lists no patterns"),
        ('{"mode": "unrestricted", "patterns": ["a"]}', "is unrestricted and lists patterns"),
        ("[1]", "must be a list of strings"),
        ('{"mode": "directory", "patterns": "a"}', "must be a list of strings"),
        ('["!a"]', "names no path inside the repository: '!a'"),
        ('["#a"]', "names no path inside"),
        ('[" "]', "names no path inside"),
        ('["/"]', "names no path inside"),
        ('["../a"]', "names no path inside"),
        ('["a/../../b"]', "names no path inside"),
        ('["a\\u0000"]', "names no path inside"),
        ('["a\\\\"]', "cannot be read"),
        ('["src/[z-a]"]', "cannot be read"),
    ],
)
def test_what_does_not_parse_is_refused_and_never_unrestricted(text: str, said: str) -> None:
    with pytest.raises(ScopeError) as refused:
        Scope.parse(text)
    assert str(refused.value).startswith("MINION_SCOPE ")
    assert said in str(refused.value)


def test_a_scope_says_what_may_be_written() -> None:
    assert EVERYTHING.describe() == "any file"
    assert directory("src/**", "docs").describe() == "src/**, docs"


# What a session gets: the role's scope, the space's, and what people granted.


@pytest.mark.parametrize(
    ("declared", "space", "granted", "effective"),
    [
        (EVERYTHING, None, (), EVERYTHING),
        (EVERYTHING, ("src/**",), (), directory("src/**")),
        (EVERYTHING, ("src/**",), ("docs/**",), directory("src/**", "docs/**")),
        (EVERYTHING, None, (".github/workflows/ci.yml",), directory("**", ".github/workflows/ci.yml")),
        (directory("src/**", "tests/**"), None, (), directory("src/**", "tests/**")),
        (directory("src/**", "tests/**"), ("src/**",), (), directory("src/**")),
        (directory("src/**"), None, ("src/**", "docs/**"), directory("src/**", "docs/**")),
        (explicit("docs", "calc.py"), ("docs",), (), explicit("docs")),
        (explicit("calc.py"), None, ("README.md",), directory("calc.py", "README.md")),
        (explicit("a[1].py"), None, ("docs/**",), directory(r"a\[1\].py", "docs/**")),
    ],
)
def test_the_scope_of_a_session(
    declared: Scope, space: tuple[str, ...] | None, granted: tuple[str, ...], effective: Scope
) -> None:
    assert effective_scope(declared, space, granted) == effective


def test_a_space_cannot_widen_its_role() -> None:
    with pytest.raises(ScopeError, match=r"the space's scope \(docs/\*\*\) goes beyond its role's \(src/"):
        effective_scope(directory("src/**"), ["docs/**"], ())


def test_narrowing_an_exact_scope_does_not_open_a_directory_of_that_name() -> None:
    assert not effective_scope(explicit("docs"), ["docs"], ()).allows("docs/secret.md")


# The verdict on a change.


def test_a_change_inside_its_scope_passes() -> None:
    result = check_scope(directory("src/**"), changed("src/a.py", "src/b.py"))
    assert (result.score, result.summary, result.findings) == (CheckScore.PASS, "2 files, all inside", ())
    assert check_scope(EVERYTHING, changed("a")).summary == "1 file, all inside"


def test_no_change_is_no_pass() -> None:
    result = check_scope(EVERYTHING, [])
    assert result.score is CheckScore.NEEDS_REVISION
    assert [finding.rule for finding in result.findings] == ["empty-change"]


def test_two_files_outside_go_back_with_the_reason() -> None:
    result = check_scope(directory("src/**"), changed("src/a.py", "setup.py", "README.md"))
    assert result.score is CheckScore.NEEDS_REVISION
    assert result.subject == ""
    assert [(finding.rule, finding.file) for finding in result.findings] == [
        ("outside-scope", "README.md"),
        ("outside-scope", "setup.py"),
    ]
    assert result.findings[0].message == "README.md is outside the scope (src/**)."
    assert "ask_question" in result.findings[0].suggestion


def test_three_files_outside_go_to_a_person() -> None:
    result = check_scope(directory("src/**"), changed("a", "b", "c"))
    assert (result.score, result.subject) == (CheckScore.FAIL, Subject.SCOPE)


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", ".nebulus/checks.yaml", "a/.git/hooks/x"])
def test_one_protected_file_goes_to_a_person(path: str) -> None:
    result = check_scope(EVERYTHING, changed("calc.py", path))
    assert (result.score, result.subject) == (CheckScore.FAIL, Subject.SCOPE)
    assert [(finding.rule, finding.message) for finding in result.findings] == [
        ("protected-path", f"{path} is protected.")
    ]


@pytest.mark.parametrize("ends", [("src/a.py", "lib/a.py"), ("lib/a.py", "src/a.py")])
def test_a_rename_counts_with_both_its_ends(ends: tuple[str, str]) -> None:
    old, new = ends
    rename = Change(path=new, old_path=old, status="R")
    assert rename.paths == (old, new)
    result = check_scope(directory("src/**"), [rename])
    assert result.score is CheckScore.NEEDS_REVISION
    assert [finding.file for finding in result.findings] == ["lib/a.py"]


def test_a_path_outside_twice_is_one_violation() -> None:
    moves = [
        Change(path=new, old_path="lib/a.py", status="R") for new in ("src/a.py", "src/b.py", "src/c.py")
    ]
    assert len(check_scope(directory("src/**"), moves).findings) == 1


@pytest.mark.parametrize(
    ("paths", "dropped"),
    [
        (("src/a.py",), ()),
        (("src/a.py", "setup.py"), ("setup.py",)),
        (("b", "a"), ("a", "b")),
        (("a", "b", "c"), ()),
        (("setup.py", ".git/config"), ()),
    ],
)
def test_only_few_and_unprotected_changes_are_taken_out(
    paths: tuple[str, ...], dropped: tuple[str, ...]
) -> None:
    assert droppable(directory("src/**"), changed(*paths)) == dropped


def test_what_was_taken_out_goes_back_with_the_reason() -> None:
    result = check_scope(directory("src/**"), changed("src/a.py"), dropped=("setup.py",))
    assert result.score is CheckScore.NEEDS_REVISION
    assert result.findings[0].message.endswith("The change to it was taken out.")


def test_a_change_of_which_nothing_is_left_is_no_pass() -> None:
    result = check_scope(directory("src/**"), [], dropped=("setup.py",))
    assert result.score is CheckScore.NEEDS_REVISION
    assert [finding.rule for finding in result.findings] == ["outside-scope", "empty-change"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=8,
    )
)
def test_any_json_is_a_scope_or_a_scope_error(value: Any) -> None:
    try:
        scope = Scope.parse(json.dumps(value))
    except ScopeError:
        return
    assert scope.mode is not ScopeMode.UNRESTRICTED
    assert scope.patterns


FILE_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name not in {".", ".."} and not is_protected(name)
)


@given(FILE_NAMES, FILE_NAMES)
def test_a_files_name_as_a_pattern_means_that_file_alone(name: str, other: str) -> None:
    scope = directory(exact_pattern(f"src/{name}"))
    assert scope.allows(f"src/{name}")
    assert scope.allows(f"src/{other}") == (name == other) or any(char.isspace() for char in name)
    assert not scope.allows("setup.py")


def test_a_change_of_what_git_lfs_keeps_is_said_for_what_it_is() -> None:
    result = check_scope(directory("src/**"), changed("src/a.py"), ("src/a.bin", "b"), large=["src/a.bin"])
    assert (result.score, result.summary) == (CheckScore.NEEDS_REVISION, "2 changes were taken out")
    assert [finding.rule for finding in result.findings] == ["kept-in-lfs", "outside-scope"]
    assert result.findings[0].message.startswith("Git LFS keeps the content of src/a.bin")
