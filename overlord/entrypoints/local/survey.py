"""`overlord init`: what Overlord sees in a repository, read from a commit; nothing of it is run, and nothing is written unasked."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from overlord.adapters.git.command import git
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.file import CHECKS_PATH, ChecksFile, ChecksFileError, parse_checks
from overlord.domain.checks.lint import LINT_CONFIGURATION, describe_lint
from overlord.domain.checks.untested import has_tests, judged, to_read
from overlord.domain.environments.file import ENVIRONMENT_PATH, EnvironmentFileError
from overlord.domain.environments.recipe import Recipe, recipe, wanted
from overlord.domain.identifiers import Sha
from overlord.domain.scope.check import GITLINK_MODE
from overlord.domain.text.plain import count
from overlord.entrypoints.local.checkout import Checkout, commit_of
from overlord.errors import Refused

MOST_BYTES = 1_000_000
LARGE_BYTES = 50_000_000
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
    "Shell": {".sh"},
}
_BY_SUFFIX = {suffix: name for name, suffixes in _LANGUAGES.items() for suffix in suffixes}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Every path of a commit with its object and size."""

    blobs: Mapping[str, tuple[str, int]]
    submodules: tuple[str, ...]


async def survey(checkout: Checkout) -> Survey:
    """Look at HEAD. Raises Refused for a repository without commits."""
    commit = await commit_of(checkout, "HEAD")
    tree = await _tree(checkout, commit)
    names = frozenset(tree.blobs)
    asked = {
        *wanted(names),
        *to_read(names),
        *(name for name in (CHECKS_PATH, *LINT_CONFIGURATION) if name in names),
    }
    files = {name: await _content(checkout, tree, name) for name in sorted(asked)}
    notes = [*_notes(tree)]
    try:
        checks = parse_checks(files.get(CHECKS_PATH))
        found = recipe(files, names)
    except (ChecksFileError, EnvironmentFileError) as error:
        raise Refused(str(error)) from None
    lint = _lint(checks, found, files, tree)
    if not found.tests and not has_tests(checks, names, files):
        notes += [
            f"judged: {judged(lint, review=True)}; not judged: whether the code works, as no test is run",
            "the first job asks once: write tests first, or accept changes without tests",
            f"if it has tests that were not found, name their command in {CHECKS_PATH}",
        ]
    return Survey(
        commit=commit,
        files=len(names),
        size=sum(size for _, size in tree.blobs.values()),
        languages=_languages(tree),
        test_files=sum(map(is_test_path, names)),
        tests=_tests(checks, found, files, tree),
        lint=lint,
        setup=found.what,
        commands=found.plan.commands,
        packages=found.packages,
        notes=tuple(notes),
    )


async def _tree(checkout: Checkout, commit: Sha) -> _Tree:
    listing = await git(checkout.git_dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    blobs, submodules = {}, []
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        about, _, raw = entry.partition(b"\t")
        mode, _, sha, size = about.decode().split()
        name = raw.decode(errors="backslashreplace")
        if mode == GITLINK_MODE:
            submodules.append(name)
        else:
            blobs[name] = (sha, int(size))
    return _Tree(blobs=blobs, submodules=tuple(submodules))


async def _content(checkout: Checkout, tree: _Tree, name: str) -> bytes:
    return await git(checkout.git_dir, "cat-file", "blob", tree.blobs[name][0], limit_bytes=MOST_BYTES)


def _languages(tree: _Tree) -> tuple[tuple[str, int], ...]:
    found = Counter(_BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), "") for name in tree.blobs)
    found.pop("", None)
    return tuple(found.most_common(5))


def _tests(checks: ChecksFile | None, found: Recipe, files: Mapping[str, bytes], tree: _Tree) -> str:
    if checks and checks.tests:
        return f"{checks.tests.words} ({CHECKS_PATH})"
    if found.tests:
        return found.tests.words
    if has_tests(checks, tree.blobs, files):
        return "python -m pytest"
    return "none were found"


def _lint(checks: ChecksFile | None, found: Recipe, files: Mapping[str, bytes], tree: _Tree) -> str:
    texts = {name: files[name].decode(errors="replace") for name in LINT_CONFIGURATION if name in files}
    lint = describe_lint((checks and checks.lint) or found.lint, texts, tree.blobs)
    return f"{lint} ({CHECKS_PATH})" if checks and checks.lint else lint


def _notes(tree: _Tree) -> list[str]:
    lines = []
    if tree.submodules:
        lines.append(
            f"{count(len(tree.submodules), 'submodule')}: sessions see them empty unless `fetch.submodules` is set"
        )
    large = sorted(name for name, (_, size) in tree.blobs.items() if size > LARGE_BYTES)
    if large:
        lines.append(f"{count(len(large), 'file')} over {LARGE_BYTES // 1_000_000} MB, such as {large[0]}")
    if ENVIRONMENT_PATH in tree.blobs or CHECKS_PATH in tree.blobs:
        lines.append("its own .nebulus files are used, as they are at the commit a run starts from")
    return lines


def write(checkout: Checkout, seen: Survey) -> list[str]:
    """Put files with what was detected, as comments to go on from, into the working tree; a sentence for each.

    Raises Refused where there is no working tree, or where `.nebulus` is no plain directory.
    """
    if checkout.root is None:
        raise Refused(f"{checkout.place} has no working tree to write into")
    directory = checkout.root / ".nebulus"
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise Refused(f"{directory} is no directory")
    directory.mkdir(exist_ok=True)
    return [
        _written(checkout.root / ENVIRONMENT_PATH, _environment_text(seen)),
        _written(checkout.root / CHECKS_PATH, _checks_text(seen)),
        "Commit them: they are read at the commit a run starts from.",
    ]


def _written(path: Path, text: str) -> str:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return f"{path} is there already, and was left as it is."
    return f"{path} was written."


def _environment_text(seen: Survey) -> str:
    lines = [
        "What sessions and checks of this repository run in. This is detected, without a line here:",
        *(f"  {sentence}" for sentence in seen.setup),
        *(f"  $ {line}" for command in seen.commands for line in command.splitlines()),
        "Add what it misses, as in:",
        "  packages: [libxml2-dev]      Debian packages, added to those detected",
        "  setup: [make generated]      in place of the commands detected; after them with `detect: true`",
        "  variables: {TZ: UTC}",
    ]
    return _comments(lines)


def _checks_text(seen: Survey) -> str:
    lines = [
        "What a change is judged by. This is found, without a line here:",
        f"  tests: {seen.tests}",
        f"  lint: {seen.lint}",
        "Say it otherwise as in:",
        "  tests: {command: [npm, test], junit: results.xml, timeout_s: 600}",
        "  lint: npm run lint",
    ]
    return _comments(lines)


def _comments(lines: list[str]) -> str:
    return "".join(f"# {' '.join(line.splitlines())}\n" for line in lines)
