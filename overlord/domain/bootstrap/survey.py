"""What Overlord sees in a repository before anything is run in it, told from its paths and from the few files that say most.

`paths_to_read` says which files, `survey_of` makes of them what people, the bank of questions and an architect go on from.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from overlord.domain.bootstrap.code_facts import LICENCES, CodeFact, code_facts, fact
from overlord.domain.bootstrap.documents import documents
from overlord.domain.bootstrap.manifest import manifest_paths, read_manifests
from overlord.domain.bootstrap.project_kind import entry_points, kind_of
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.file import CHECKS_PATH, ChecksFile, ChecksFileError, parse_checks
from overlord.domain.checks.lint import LINT_CONFIGURATION, describe_lint
from overlord.domain.checks.untested import has_tests, judged, to_read
from overlord.domain.discovery.question import ProjectKind, RepositoryState
from overlord.domain.environments.file import ENVIRONMENT_PATH, EnvironmentFileError
from overlord.domain.environments.recipe import Recipe, recipe, wanted
from overlord.domain.identifiers import Sha
from overlord.domain.text.plain import count, plain_line, size_text
from overlord.errors import Refused

LARGE_BYTES = 50_000_000
MOST_LAYOUT = 20
_NO_TESTS = "none were found"
_LANGUAGES = {
    "Python": {".py", ".pyi"},
    "JavaScript": {".js", ".jsx", ".mjs", ".cjs"},
    "TypeScript": {".ts", ".tsx", ".mts", ".cts"},
    "Go": {".go"},
    "Rust": {".rs"},
    "C": {".c", ".h"},
    "C++": {".cc", ".cpp", ".cxx", ".hpp"},
    "Java": {".java"},
    "Kotlin": {".kt"},
    "Ruby": {".rb"},
    "PHP": {".php"},
    "C#": {".cs"},
    "Swift": {".swift"},
    "Dart": {".dart"},
    "Scala": {".scala"},
    "Elixir": {".ex", ".exs"},
    "Shell": {".sh"},
}
_BY_SUFFIX = {suffix: name for name, suffixes in _LANGUAGES.items() for suffix in suffixes}
_OTHER_CODE = frozenset(
    (".ipynb", ".html", ".css", ".scss", ".vue", ".svelte", ".sql", ".r", ".lua", ".hs", ".clj", ".m", ".mm")
)
_NO_CODE = frozenset(("docs", "doc", ".github", ".nebulus", ".vscode"))
"""Directories in which a script makes no project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was seen at one commit."""

    commit: Sha
    files: int
    size: int
    languages: tuple[tuple[str, int], ...]
    test_files: int
    tests: str
    lint: str
    setup: tuple[str, ...]
    """Sentences: what the environment follows from."""
    commands: tuple[str, ...]
    packages: tuple[str, ...]
    notes: tuple[str, ...]
    layout: tuple[tuple[str, int], ...]
    """Top-level directories with the number of their files, the largest first."""
    documents: tuple[str, ...]
    """The paths of those that are read, the one that says most first."""
    state: RepositoryState
    kind: ProjectKind
    kind_reasons: tuple[str, ...]
    """Sentences: what it follows from."""
    facts: tuple[CodeFact, ...]
    """What the code decides, so that nobody is asked."""


def paths_to_read(names: Collection[str]) -> tuple[str, ...]:
    """The files whose content `survey_of` and a discovery read; of each, as much as `documents.most_bytes` says."""
    asked = {
        *wanted(names),
        *to_read(names),
        *(name for name in (CHECKS_PATH, *LINT_CONFIGURATION, *LICENCES) if name in names),
        *manifest_paths(names),
        *entry_points(names),
        *documents(names),
    }
    return tuple(sorted(asked))


def survey_of(
    commit: Sha, sizes: Mapping[str, int], files: Mapping[str, bytes], submodules: Sequence[str] = ()
) -> Survey:
    """What is seen at a commit. `sizes` has every path with its bytes, `files` the contents of those of `paths_to_read`.

    Raises Refused where the repository's own `.nebulus` files cannot be read.
    """
    names = frozenset(sizes)
    try:
        checks = parse_checks(files.get(CHECKS_PATH))
        found = recipe(files, names)
    except (ChecksFileError, EnvironmentFileError) as error:
        raise Refused(str(error)) from None
    lint, tests = _lint(checks, found, files, names), _tests(checks, found, files, names)
    languages, layout, manifests = _languages(names), _layout(names), read_manifests(names, files)
    state = _state(names)
    kind, reasons = kind_of(names, files, manifests) if state is RepositoryState.HAS_CODE else _NO_KIND[state]
    facts = code_facts(names, files, manifests, languages=languages, layout=layout)
    return Survey(
        commit=commit,
        files=len(names),
        size=sum(sizes.values()),
        languages=languages,
        test_files=sum(map(is_test_path, names)),
        tests=tests,
        lint=lint,
        setup=found.what,
        commands=found.plan.commands,
        packages=found.packages,
        notes=(*_notes(sizes, submodules), *_untested(checks, found, files, names, lint)),
        layout=layout,
        documents=documents(names),
        state=state,
        kind=kind,
        kind_reasons=reasons,
        facts=(*facts, *_judged_by(tests, lint, checks)),
    )


def as_markdown(survey: Survey) -> str:
    """All of it, for an architect. Names are a repository's: they are data."""
    languages = ", ".join(f"{name} ({count(number, 'file')})" for name, number in survey.languages)
    rows = [
        ("Commit", survey.commit),
        ("State", survey.state),
        ("Kind", survey.kind),
        *(("Kind, because", reason) for reason in survey.kind_reasons),
        ("Size", f"{count(survey.files, 'file')}, {size_text(survey.size)}"),
        ("Languages", languages or "none that is known"),
        ("Tests", f"{survey.tests}; {count(survey.test_files, 'test file')}"),
        ("Lint", survey.lint),
        *(("Environment", sentence) for sentence in survey.setup),
        *(("Set up by", command) for command in survey.commands),
        *((("Debian packages", ", ".join(survey.packages)),) if survey.packages else ()),
        *(("Note", note) for note in survey.notes),
    ]
    lines = ["# Survey", "", *(f"- {name}: {_line(text)}" for name, text in rows)]
    lines += _listed("Layout", (f"{name}/: {count(number, 'file')}" for name, number in survey.layout))
    lines += _listed("Documents", survey.documents)
    lines += _listed(
        "What the code decides", (f"{item.topic}: {item.value} (from {item.source})" for item in survey.facts)
    )
    return "\n".join(lines) + "\n"


_NO_KIND: Mapping[RepositoryState, tuple[ProjectKind, tuple[str, ...]]] = {
    RepositoryState.EMPTY: (
        ProjectKind.OTHER,
        ("There is nothing in it yet that says what kind of project it is.",),
    ),
    RepositoryState.DOCS_ONLY: (ProjectKind.OTHER, ("It has documents and no code yet.",)),
}


def _listed(title: str, items: Iterable[str]) -> list[str]:
    found = [f"- {_line(item)}" for item in items]
    return ["", f"## {title}", "", *found] if found else []


def _line(text: str) -> str:
    return plain_line(text, limit=500)


def _state(names: Collection[str]) -> RepositoryState:
    for name in names:
        suffix = PurePosixPath(name).suffix.lower()
        if (suffix in _BY_SUFFIX or suffix in _OTHER_CODE) and name.split("/", 1)[
            0
        ].casefold() not in _NO_CODE:
            return RepositoryState.HAS_CODE
    return RepositoryState.DOCS_ONLY if documents(names) else RepositoryState.EMPTY


def _languages(names: Collection[str]) -> tuple[tuple[str, int], ...]:
    found = Counter(_BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), "") for name in names)
    found.pop("", None)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:5])


def _layout(names: Collection[str]) -> tuple[tuple[str, int], ...]:
    found = Counter(name.split("/", 1)[0] for name in names if "/" in name)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_LAYOUT])


def _tests(
    checks: ChecksFile | None, found: Recipe, files: Mapping[str, bytes], names: Collection[str]
) -> str:
    if checks and checks.tests:
        return f"{checks.tests.words} ({CHECKS_PATH})"
    if found.tests:
        return found.tests.words
    return "python -m pytest" if has_tests(checks, names, files) else _NO_TESTS


def _lint(
    checks: ChecksFile | None, found: Recipe, files: Mapping[str, bytes], names: Collection[str]
) -> str:
    texts = {name: files[name].decode(errors="replace") for name in LINT_CONFIGURATION if name in files}
    lint = describe_lint((checks and checks.lint) or found.lint, texts, names)
    return f"{lint} ({CHECKS_PATH})" if checks and checks.lint else lint


def _untested(
    checks: ChecksFile | None, found: Recipe, files: Mapping[str, bytes], names: Collection[str], lint: str
) -> tuple[str, ...]:
    """What follows from there being no tests; nothing where there are some."""
    if found.tests or has_tests(checks, names, files):
        return ()
    return (
        f"judged: {judged(lint, review=True)}; not judged: whether the code works, as no test is run",
        "the first job asks once: write tests first, or accept changes without tests",
        f"if it has tests that were not found, name their command in {CHECKS_PATH}",
    )


def _judged_by(tests: str, lint: str, checks: ChecksFile | None) -> tuple[CodeFact, ...]:
    """The facts on tests and style: what runs, and a linter that somebody configured."""
    found = []
    if tests != _NO_TESTS:
        found.append(fact("tests", tests, CHECKS_PATH if checks and checks.tests else "its files"))
    if lint != "nothing" and "for what is surely wrong" not in lint:
        found.append(fact("style", lint, CHECKS_PATH if checks and checks.lint else "its files"))
    return tuple(found)


def _notes(sizes: Mapping[str, int], submodules: Sequence[str]) -> list[str]:
    lines = []
    if submodules:
        lines.append(
            f"{count(len(submodules), 'submodule')}: sessions see them empty unless `fetch.submodules` is set"
        )
    large = sorted(name for name, size in sizes.items() if size > LARGE_BYTES)
    if large:
        lines.append(f"{count(len(large), 'file')} over {LARGE_BYTES // 1_000_000} MB, such as {large[0]}")
    if ENVIRONMENT_PATH in sizes or CHECKS_PATH in sizes:
        lines.append("its own .nebulus files are used, as they are at the commit a run starts from")
    return lines
