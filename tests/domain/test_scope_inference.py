"""What an issue opens, by what it says; and that no text whatever opens more than it may."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Comment, Issue, Scope, ScopeMode, is_protected
from overlord.domain.scope.inference import NOTHING_INFERRED, infer
from overlord.domain.scope.issue_text import candidates
from overlord.domain.scope.occurrences import MOST_SYMBOLS, Occurrences
from overlord.domain.scope.reason import Inference

PATHS = [
    ".github/workflows/ci.yml",
    ".gitignore",
    ".nebulus/checks.yaml",
    "CHANGELOG.md",
    "README.md",
    "docs/url.md",
    "docs/guide/start.md",
    "pyproject.toml",
    "examples/url.py",
    "src/acme/__init__.py",
    "src/acme/cli.py",
    "src/acme/core/__init__.py",
    "src/acme/core/engine.py",
    "src/acme/core/gear.py",
    "src/acme/models.py",
    "src/acme/migrations/0001_first.py",
    "src/acme/url.py",
    "src/acme/templates/url.html",
    "src/acme/deep/under/host.py",
    "tests/__init__.py",
    "tests/test_url.py",
    "tests/test_gear.py",
    "tests/test_core/test_all.py",
    "tests/data.py",
]
PYTHON = frozenset(PATHS) | {"docs/a b.md"}
DEFINED = {
    "parse_url": ["src/acme/url.py", "tests/test_url.py", "examples/url.py"],
    "Engine": ["src/acme/core/engine.py"],
    "start": ["src/acme/core/engine.py", "src/acme/cli.py"],
    "Gear": ["src/acme/core/gear.py"],
    "run_all": ["src/acme/core/gear.py", "src/acme/cli.py", "src/acme/url.py", "src/acme/models.py"],
    "url_host": ["src/acme/url.py", "src/acme/deep/under/host.py"],
    "resolver": ["src/acme/deep/under/host.py"],
}


def issue(title: str, body: str = "", *comments: str, labels: Sequence[str] = ()) -> Issue:
    said = tuple(Comment(author="c", association="NONE", body=text) for text in comments)
    return Issue(number=1, title=title, body=body, author="a", labels=tuple(labels), comments=said)


def inferred(
    one: Issue,
    paths: Sequence[str] | frozenset[str] = PYTHON,
    defined: Mapping[str, Sequence[str]] = DEFINED,
    labels: Mapping[str, Sequence[str]] | None = None,
    always: Sequence[str] = (),
    mentioned: Mapping[str, Sequence[str]] | None = None,
) -> Inference:
    words, mentioned = candidates(one), mentioned or {}
    found = Occurrences(
        definitions={word: tuple(defined[word]) for word in words if word in defined},
        mentions={word: tuple(mentioned[word]) for word in words if word in mentioned},
    )
    return infer(one, paths, found, labels or {}, always)


def patterns(*arguments: str, labels: Sequence[str] = ()) -> tuple[str, ...]:
    return inferred(issue(*arguments, labels=labels)).scope.patterns


URL = ("src/acme/url.py", "tests/test_url.py")


@pytest.mark.parametrize(
    ("title", "body", "opened"),
    [
        ("Bug in src/acme/url.py", "", URL),
        ("Bug", "see `src\\acme\\url.py`, line 3", URL),
        ("Bug in SRC/Acme/Url.py:12", "", URL),
        ("Bug", "https://github.com/o/r/blob/feature/x/src/acme/url.py#L3", URL),
        ("Bug", "/usr/lib/python3/site-packages/acme/url.py is wrong", URL),
        ("`parse_url` is slow", "", URL),
        ("Bug", "parse_url() is slow", URL),
        ("Bug", "`parse_url([1, 2], base=3)` is None. It should be 5.", URL),
        ("Bug", "acme.url.parse_url is slow", URL),
        ("Gear.turn fails", "", ("src/acme/core/gear.py", "tests/test_gear.py")),
        ("Engine.start fails", "", ("src/acme/core/engine.py", "tests/test_engine.py")),
        ("url.url_host fails", "", URL),
        (
            "Bug",
            'Traceback\n  File "/v/site-packages/acme/core/gear.py", line 1, in turn\n    x\n'
            '  File "/v/site-packages/acme/url.py", line 3, in parse\n  File "/v/site-packages/idna/core.py", line 3, in enc\n',
            ("src/acme/url.py", "src/acme/core/gear.py", "tests/test_url.py", "tests/test_gear.py"),
        ),
        ("Typo in docs/url.md", "the page on `parse_url`", ("docs/url.md",)),
        ("Typo", "in `docs/a b.md`: see docs/guide/start.md", ("docs/guide/start.md",)),
        ("Docs: start page", "`Engine` is told wrong", ("docs/guide/start.md",)),
        ("CHANGELOG.md has it twice", "", ("CHANGELOG.md",)),
        ("Bug in url", "`src/acme/core/gear.py` is fine, `parse_url` is not", URL),
        ("Bug in url", "I suspected `src/acme/core/gear.py`, but that one is right. parse_url is not", URL),
        ("Host of src/acme/templates/url.html", "", ("src/acme/templates/url.html",)),
    ],
)
def test_a_text_that_is_clear_opens_files_and_their_tests(
    title: str, body: str, opened: tuple[str, ...]
) -> None:
    found = inferred(issue(title, body))
    assert (found.scope.mode, found.scope.patterns) == (ScopeMode.EXPLICIT, opened)
    assert tuple(reason.pattern for reason in found.reasons) == opened


def test_each_pattern_says_why_it_is_there() -> None:
    one = issue("`parse_url` and `Engine`", "also src/acme/models.py. Tell it in the changelog.")
    assert [(reason.pattern, reason.why) for reason in inferred(one, always=["NEWS"]).reasons] == [
        ("src/acme/models.py", "named in the text"),
        ("src/acme/url.py", "defines `parse_url`, named in the title"),
        ("src/acme/core/engine.py", "defines `Engine`, named in the title"),
        ("tests/test_url.py", "tests of src/acme/url.py"),
        ("tests/test_models.py", "where tests of src/acme/models.py would be"),
        ("tests/test_engine.py", "where tests of src/acme/core/engine.py would be"),
        ("CHANGELOG.md", "the text speaks of the changelog"),
        ("NEWS", "always open in this repository"),
    ]


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("", ""),
        ("It is broken", "![Screenshot](https://x/y.png)"),
        ("Release?", "When? 🙏"),
        ("x" * 5000, ""),
        ("xy " * 9000, "xy " * 9000),
    ],
)
def test_where_nothing_can_be_said_nothing_is_closed(title: str, body: str) -> None:
    assert inferred(issue(title, body), always=["CHANGELOG.md"]) == NOTHING_INFERRED


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Rename Engine everywhere", ""),
        ("Replace gears", "across the package"),
        ("Slow", "```\nGear.turn(1)\n```"),
        ("The resolver is slow", ""),
        ("src/acme/url.py src/acme/cli.py src/acme/models.py", "src/acme/core/gear.py src/acme/core/engine.py src/acme/__init__.py "
         "src/acme/core/__init__.py src/acme/deep/under/host.py src/acme/migrations/0001_first.py"),
        ("--fast does nothing", ""),
    ],
)  # fmt: skip
def test_what_is_spread_or_unclear_opens_packages(title: str, body: str) -> None:
    found = inferred(issue(title, body))
    assert (found.scope.mode, found.scope.patterns) == (ScopeMode.DIRECTORY, ("src/acme/**", "tests/**"))


def test_what_the_command_line_does_is_where_it_is_read() -> None:
    assert patterns("wrong help", "on the command line") == ("src/acme/cli.py", "tests/test_cli.py")


def test_a_page_of_documentation_that_nobody_names_is_one_of_the_documentation() -> None:
    assert patterns("Documentation is outdated") == ("docs/**",)


def test_a_directory_that_is_named_opens_the_code_in_it() -> None:
    assert set(patterns("Clean up", "all in src/acme/deep/under please")) == {
        "src/acme/deep/under/host.py",
        "tests/test_host.py",
    }
    many = [f"src/many/f{number}.py" for number in range(20)]
    assert inferred(issue("Clean up", "in src/many"), many).scope.patterns == ("src/**",)


def test_a_migration_is_beside_its_model() -> None:
    assert "src/acme/migrations/**" in patterns("src/acme/models.py", "needs a migration")


def test_a_label_opens_what_is_written_for_it_and_files_are_added() -> None:
    labels = {"area: x": ["src/acme/cli.py", "docs/[a-c]*"], "other": ["x"]}
    one = inferred(issue("Broken", labels=["area: x"]), labels=labels)
    assert one.scope == Scope(patterns=("src/acme/cli.py", "docs/[a-c]*"))
    assert {reason.why for reason in one.reasons} == {"label area: x"}
    two = inferred(issue("parse_url", labels=["area: x"]), labels={"area: x": ["src/acme/cli.py"]})
    assert two.scope == Scope(mode=ScopeMode.EXPLICIT, patterns=("src/acme/cli.py", *URL))


@pytest.mark.parametrize("pattern", [".github/workflows/ci.yml", ".github/workflows/**", ".nebulus/x", "/.git/config"])  # fmt: skip
def test_no_label_and_no_text_opens_what_is_protected(pattern: str) -> None:
    one = issue(f"Mend {pattern}", "and src/acme/url.py", labels=["ci"])
    found = inferred(one, labels={"ci": [pattern]}, always=[pattern])
    assert found.scope.patterns == URL
    assert not any(found.scope.allows(path) for path in PYTHON if is_protected(path))


SCRIPTS = {
    "beside": ["src/a.ts", "src/b.ts", "src/b.test.ts"],
    "spec": ["src/a.ts", "src/b.ts", "src/b.spec.ts"],
    "folder": ["src/a.ts", "src/b.ts", "src/__tests__/b.test.ts"],
    "apart": ["src/a.ts", "src/b.ts", "test/b.ts"],
    "none": ["src/a.ts"],
}


@pytest.mark.parametrize(
    ("paths", "test"),
    [
        (SCRIPTS["beside"], "src/a.test.ts"),
        (SCRIPTS["spec"], "src/a.spec.ts"),
        (SCRIPTS["folder"], "src/__tests__/a.test.ts"),
        (SCRIPTS["apart"], "test/a.ts"),
        (SCRIPTS["none"], "src/a.test.ts"),
        (["src/a.py", "app/tests/b_tests.py"], "tests/a_tests.py"),
        (["app/a.py", "app/tests/b_tests.py"], "app/tests/a_tests.py"),
        (["lib/a.rb", "test/test_b.rb"], "test/test_a.rb"),
        (["a.py"], "tests/test_a.py"),
        (["pkg/a.go", "pkg/b_test.go"], "pkg/a_test.go"),
        (["crates/x/Cargo.toml", "crates/x/src/a.rs", "crates/y/tests/c.rs", "tests/all.rs"], "tests/**"),
        (["pkg/a.go", "pkg/a_test.go", "other/a_test.go"], "pkg/a_test.go"),
        (["src/models/a.py", "tests/models/test_one.py", "tests/a/test_two.py"], "tests/a/test_two.py"),
        (["src/x/auth/a.py", "src/x/__init__.py", "tests/test_auth.py"], "tests/test_auth.py"),
        (["src/x/__init__.py", "tests/test_y.py"], "tests/test_x.py"),
        (["src/x/index.ts", "src/x.test.ts"], "src/x.test.ts"),
    ],
)
def test_tests_are_where_a_project_has_them(paths: list[str], test: str) -> None:
    found = inferred(issue(f"Mend {paths[0] if 'Cargo' not in paths[0] else paths[1]}"), paths)
    assert test in found.scope.patterns
    assert len(found.scope.patterns) == 2


def test_packages_are_those_of_their_manifests() -> None:
    paths = [f"packages/{name}/{file}" for name in "abcdefgh" for file in ("package.json", "src/x.ts")]
    blocks = "\n".join(f"    see packages/{name}/src/x.ts" for name in "ab")
    assert inferred(issue("Slow", blocks), paths).scope.patterns == ("packages/a/**", "packages/b/**")
    everywhere = "\n".join(f"    see packages/{name}/src/x.ts" for name in "abcdefgh")
    assert len(inferred(issue("Slow", everywhere), paths).scope.patterns) == len("abcdefgh")
    flat = ["tool.py", "other.py", "tests/test_x.py"]
    assert inferred(issue("Slow", "    tool.py"), flat).scope.patterns == ("tool.py", "tests/**")
    within = ["acme/__init__.py", "acme/a.py", "acme/tests/test_a.py"]
    assert inferred(issue("Slow", "    acme/a.py"), within).scope.patterns == ("acme/**",)
    go = ["cmd/one/main.go", "cmd/two/main.go", "main.go", "README.md"]
    assert inferred(issue("Rename it in all files"), go).scope.patterns == ("main.go", "cmd/**")


def test_what_a_name_says_by_chance_counts_for_nothing_beside_what_is_defined() -> None:
    others = [f"src/part{number}.py" for number in range(8)]
    paths = ["src/view.py", "src/rate.py", "tests/test_rate.py", *others]
    found = inferred(issue("The `limit` on a view"), paths, {"limit": ["src/rate.py"]})
    assert found.scope.patterns == ("src/rate.py", "tests/test_rate.py")
    alone = inferred(issue("The limit on a preview"), [*paths, "src/preview.py"], {})
    assert alone.scope.patterns == ("src/preview.py", "tests/test_preview.py")


def test_candidates_are_names_of_code_those_of_the_title_first_and_no_more_than_a_search_takes() -> None:
    one = issue(
        "`Engine.start` fails",
        "parse_url() and `plain`, HTTPServer, self.x; it's GitHub\n```\nfooBar\n```\n"
        "    at run_it (/a/node_modules/b/c.js:1:2)\n",
        "some_comment",
    )
    found = candidates(one)
    assert found[:2] == ("Engine", "start")
    assert set(found) == {
        "Engine", "start", "parse_url", "plain", "HTTPServer", "self", "fooBar", "run_it", "some_comment"
    } - {"self"}  # fmt: skip
    assert len(candidates(issue("x", " ".join(f"name_{n}" for n in range(1000))))) == MOST_SYMBOLS


WORDS = st.sampled_from(
    [*PATHS, *DEFINED, "`", "```\n", "\n", " ", "    ", "/", "\\", ".", "..", "://github.com/o/r/blob/x/", 'File "', '", line 1, in f',
     "at f (", ":1:2)", "everywhere", "docs", "is fine, ", "changelog", "--x", "command line", "migration", "> ", "é", "\0", "\u202e"]
)  # fmt: skip
TEXTS = st.lists(WORDS | st.text(max_size=3), max_size=25).map("".join)
ODD = st.lists(
    st.sampled_from(["a", "src", ".git", ".GitHub", "workflows", "#x", "!y", " ", "a b", "[z", "*", "b\\c", "é.py", "test_é.py", "t\n", ".."]),
    min_size=1,
    max_size=4,
).map("/".join)  # fmt: skip


@given(TEXTS, TEXTS, TEXTS, st.sets(ODD, max_size=8))
def test_no_text_opens_what_is_protected_or_outside_and_none_ends_it(
    title: str, body: str, comment: str, odd: set[str]
) -> None:
    paths = PYTHON | odd
    one = issue(title, body, comment, *odd)
    found = inferred(one, paths)
    assert inferred(one, sorted(paths, reverse=True)) == found
    assert len(found.reasons) == len(found.scope.patterns)
    if found != NOTHING_INFERRED:
        assert Scope.parse(found.scope.to_json()) == found.scope
    roots = {path.split("/")[0].replace("\\", "") for path in paths}
    for reason in found.reasons:
        plain = reason.pattern.replace("\\", "").replace("?", "\n")
        assert plain.split("/")[0] in roots or "/" not in plain
        assert not is_protected(plain.removesuffix("/**"))
    assert not any(found.scope.allows(path) for path in paths if is_protected(path))


def opened(title: str, body: str = "", *, said: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return inferred(issue(title, body), mentioned=said).scope.patterns


MORE_TESTS = "tests/test_core/test_all.py"


def test_code_that_holds_the_message_the_text_quotes_is_opened() -> None:
    host = "src/acme/deep/under/host.py"
    message = {"Got no such thing": [host]}
    assert host in opened('It says "Got no such thing (7)"', said=message)
    assert host in opened("Bug", "    ValueError: Got no such thing: 7", said=message)
    many = [path for path in PATHS if path.startswith("src/acme/") and path.endswith(".py")]
    assert host not in opened('It says "Got no such thing"', said={"Got no such thing": many})


def test_code_that_has_the_option_is_opened_where_one_file_has_it() -> None:
    assert "src/acme/url.py" in opened("`--force` asks", said={"--force": ["src/acme/url.py"]})
    both = opened("`--force` asks", said={"--force": ["src/acme/url.py", "src/acme/models.py"]})
    assert "src/acme/models.py" not in both


def test_a_test_that_speaks_of_what_the_text_names_is_opened() -> None:
    one = opened("`Engine` fails", said={"Engine": ["src/acme/core/engine.py", MORE_TESTS]})
    assert MORE_TESTS in one
    two = [MORE_TESTS, "tests/test_url.py"]
    assert MORE_TESTS not in opened("`Engine` fails", said={"Engine": ["src/acme/core/engine.py", *two]})
    named_twice = opened("`Engine` and `Gear` fail", said={"Engine": two, "Gear": [MORE_TESTS]})
    assert MORE_TESTS in named_twice


def test_code_beside_a_definition_that_alone_uses_it_is_opened() -> None:
    assert "src/acme/core/gear.py" in opened("`Engine` fails", said={"Engine": ["src/acme/core/gear.py"]})
    assert "src/acme/url.py" not in opened("`Engine` fails", said={"Engine": ["src/acme/url.py"]}), (
        "it is elsewhere"
    )


def test_what_a_package_shows_opens_the_package() -> None:
    found = inferred(issue("`shown` fails"), defined={"shown": ["src/acme/__init__.py"]})
    assert "src/acme/**" in found.scope.patterns


def test_the_readme_is_opened_where_it_is_spoken_of_besides() -> None:
    assert "README.md" in patterns("Bug in src/acme/url.py", "Say so in the README.")
    assert "README.md" not in patterns("Bug in src/acme/url.py", "Say so.")
    assert inferred(issue("Please", "I read the README")) == NOTHING_INFERRED


def test_hardly_any_code_is_opened_as_a_whole() -> None:
    paths = frozenset(["lib/index.js", "lib/parse.js", "lib/utils.js", "test/parse.js", "README.md"])
    assert set(inferred(issue("Bug in lib/parse.js"), paths).scope.patterns) == {
        "lib/parse.js",
        "test/parse.js",
    }
    found = inferred(issue("`parse` fails"), paths, {"parse": ["lib/parse.js"]})
    assert set(found.scope.patterns) == {"lib/index.js", "lib/parse.js", "lib/utils.js", "test/parse.js"}


def test_a_private_part_goes_with_what_it_is_a_part_of() -> None:
    paths = PYTHON | {"src/acme/_url_impl.py", "src/acme/_urls.py"}
    found = inferred(issue("Bug in src/acme/url.py"), paths).scope.patterns
    assert "src/acme/_url_impl.py" in found and "src/acme/_urls.py" not in found


def test_a_file_beside_the_code_that_the_title_names_in_words_is_enough() -> None:
    found = inferred(issue("typo in colour table"), PYTHON | {"data/colour/table.json"})
    assert found.scope.patterns == ("data/colour/table.json",)
