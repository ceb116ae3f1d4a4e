"""What an issue is likely to need written, told from its text, its labels and the names of files: before any model is asked.

Each pattern says why it is there. What is left out a Minion has to ask a person for, so in doubt a file is in; but a text
that names what it is about gets those files alone. Where nothing can be said, the scope is unrestricted and says so.
"""

from collections.abc import Collection, Mapping, Sequence

from minion.protocol import Issue, Scope, ScopeMode
from overlord.domain.scope.check import exact_pattern
from overlord.domain.scope.evidence import (
    Evidence,
    Strength,
    gather,
    speaks_of_changelog,
    speaks_of_docs,
    speaks_of_everything,
    speaks_of_migration,
    speaks_of_readme,
    tests_speaking,
)
from overlord.domain.scope.issue_text import IssueText, Place, read
from overlord.domain.scope.occurrences import Occurrences
from overlord.domain.scope.path_kind import (
    is_code,
    is_doc,
    is_sample,
    is_source,
    is_test,
    opens_protected,
    suffix_of,
)
from overlord.domain.scope.reason import Inference, Reason
from overlord.domain.scope.tree import Tree

MOST_FILES = 8
"""More files than these are no targeted fix: their packages are opened."""
MOST_ROOTS = 6
FEW_SOURCES = 8
"""Where there is no more code than this, all of it is opened unless the text names files: to choose among so few gains nothing."""
MOST_TESTS = 6
UNTESTED = frozenset({"html", "css", "scss", "sh", "bash", "zsh", "fish"})


NOTHING_INFERRED = Inference(scope=Scope.unrestricted())


def infer(
    issue: Issue,
    paths: Collection[str],
    occurrences: Occurrences,
    labels: Mapping[str, Sequence[str]],
    always: Sequence[str] = (),
) -> Inference:
    """The scope for an issue on a commit's paths. `occurrences` says where the code has what `scope_text.candidates` found
    in the issue, `labels` which patterns a label opens; `always` are patterns that every scope but an unrestricted one
    has. No pattern opens a protected path, whoever wrote it."""
    tree, issue_text = Tree(paths), read(issue)
    opened = _OpenedPatterns(tree)
    for label in issue.labels:
        for pattern in labels.get(label, ()):
            opened.pattern(pattern, f"label {label}")
    _open_for(opened, issue_text, issue, occurrences)
    _open_neighbours(opened, issue_text)
    if not opened.is_open:
        return NOTHING_INFERRED
    for pattern in always:
        opened.pattern(pattern, "always open in this repository")
    return opened.inference()


def _open_for(
    opened: "_OpenedPatterns", issue_text: IssueText, issue: Issue, occurrences: Occurrences
) -> None:
    """What the text is about: files where it is clear, else packages or documentation."""
    tree = opened.tree
    found = gather(issue_text, issue.labels, tree, occurrences)
    clear = [item for item in found if item.strength >= Strength.CLEAR]
    about_docs = speaks_of_docs(issue_text, issue.labels)
    is_enough = any(_is_enough(item, about_docs=about_docs) for item in clear)
    if about_docs and not is_enough and tree.docs():
        for directory in tree.docs():
            opened.directory(directory, "the text speaks of documentation")
    elif speaks_of_everything(issue_text):
        _open_packages(opened, clear or found, everything=True)
    elif len(clear) > MOST_FILES or (is_enough and _is_entry_module(clear)):
        _open_packages(opened, clear)
    elif is_enough:
        _open_files(opened, clear, issue_text, occurrences)
    elif not opened.is_open and found:
        _open_packages(opened, found)


def _open_neighbours(opened: "_OpenedPatterns", issue_text: IssueText) -> None:
    """Pages at the root that the text asks for besides."""
    if speaks_of_changelog(issue_text):
        for path in opened.tree.changelogs():
            opened.file(path, "the text speaks of the changelog")
    if opened.is_open and speaks_of_readme(issue_text):
        for path in opened.tree.readmes():
            opened.file(path, "the text speaks of the README")


def _is_enough(item: Evidence, *, about_docs: bool) -> bool:
    """Whether such a file may be all that the text is about."""
    return (
        is_source(item.path)
        or item.strength is Strength.NAMED
        or (about_docs and is_doc(item.path))
        or _is_data(item)
    )


def _is_entry_module(clear: Sequence[Evidence]) -> bool:
    """Whether all the code that is clear is what packages show: what it does is seldom done there."""
    sources = [item for item in clear if is_source(item.path)]
    return bool(sources) and all(
        item.path.endswith("/__init__.py") and item.strength is not Strength.NAMED for item in sources
    )


def _is_data(item: Evidence) -> bool:
    """Whether it is a file beside the code, that several words of the text are the name of."""
    is_other = not (is_code(item.path) or is_doc(item.path) or is_test(item.path) or is_sample(item.path))
    return is_other and item.strength is Strength.DEFINED


class _OpenedPatterns:
    """The patterns opened so far, each with the first reason that was given for it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._files: dict[str, str] = {}
        self._patterns: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._files or self._patterns)

    def file(self, path: str, why: str) -> None:
        self._files.setdefault(path, why)

    def directory(self, path: str, why: str) -> None:
        self._patterns.setdefault(f"{exact_pattern(path)}/**", why)

    def pattern(self, pattern: str, why: str) -> None:
        """What somebody wrote: a file of the tree, or else a pattern."""
        if pattern in self.tree:
            self.file(pattern, why)
        elif not opens_protected(pattern):
            self._patterns.setdefault(pattern, why)

    def inference(self) -> Inference:
        """Explicit when there are files alone."""
        if not self._patterns:
            scope = Scope(mode=ScopeMode.EXPLICIT, patterns=tuple(self._files))
            return Inference(scope=scope, reasons=_reasons(self._files))
        exact = {exact_pattern(path): why for path, why in self._files.items()}
        scope = Scope(patterns=tuple(exact | self._patterns))
        return Inference(scope=scope, reasons=_reasons(exact | self._patterns))


def _reasons(opened: Mapping[str, str]) -> tuple[Reason, ...]:
    return tuple(Reason(pattern=pattern, why=why) for pattern, why in opened.items())


def _open_files(
    opened: _OpenedPatterns, found: Sequence[Evidence], issue_text: IssueText, occurrences: Occurrences
) -> None:
    """These files and their tests: those there are, or one that may be made. A migration is one of the models beside it."""
    names = [name.parts for name in issue_text.names() if name.place is not Place.BLOCK]
    untested: list[str] = []
    for item in found:
        opened.file(item.path, item.why)
    for item in found:
        if not is_source(item.path) or suffix_of(item.path) in UNTESTED:
            continue
        lines = [part for parts in names for part in parts if part in item.why]
        for path in opened.tree.private_parts_of(item.path):
            opened.file(path, f"a private part of {item.path}")
        tests = opened.tree.tests_of(item.path, lines)
        for test in tests[:MOST_TESTS]:
            opened.file(test, f"tests of {item.path}")
        migrations = f"{item.path.rpartition('/')[0]}/migrations"
        if migrations in opened.tree.directories and speaks_of_migration(issue_text):
            opened.directory(migrations, f"migrations of {item.path}")
        if not tests:
            untested.append(item.path)
    is_decided = any(item.strength is Strength.NAMED for item in found) or not any(
        is_source(item.path) for item in found
    )
    if not is_decided and len(every := opened.tree.sources) <= FEW_SOURCES:
        for path in every:
            opened.file(path, "there is hardly more code than this")
    speaking = tests_speaking(issue_text, opened.tree, occurrences)
    for test, word in speaking:
        opened.file(test, f"a test that speaks of `{word}`")
    if not speaking:
        for path in untested:
            _open_new_test(opened, path)


def _open_new_test(opened: _OpenedPatterns, path: str) -> None:
    if new := opened.tree.new_test(path):
        opened.file(new, f"where tests of {path} would be")
        return
    for root in opened.tree.test_roots_of(path):
        opened.directory(root, f"{path} has no tests of its own")


def _open_packages(opened: _OpenedPatterns, found: Sequence[Evidence], *, everything: bool = False) -> None:
    """The packages of these files, or all there are; files that lie in none, and the tests, besides."""
    tree = opened.tree
    sources = [
        item
        for item in found
        if is_source(item.path) or (is_doc(item.path) and item.strength is Strength.NAMED)
    ]
    homes = [(tree.package_root(item.path), item) for item in sources]
    roots: dict[str, str] = {}
    for root, item in homes:
        if root:
            roots.setdefault(root, f"package of {item.path}: {item.why}")
    loose = {item.path: item.why for root, item in homes if not root}
    if everything or len(roots) > MOST_ROOTS or not homes:
        why = (
            "the text is about all of the code"
            if everything or homes
            else "no code is named, only other files"
        )
        roots = dict.fromkeys(tree.main_roots(everything=everything), why)
        loose |= dict.fromkeys(tree.loose_sources(), why)
    for root, why in roots.items():
        opened.directory(root, why)
    for path, why in loose.items():
        opened.file(path, why)
    for root in dict.fromkeys(
        t for home in (*map("{}/".format, roots), *loose) for t in tree.test_roots_of(home)
    ):
        if not any(f"{root}/".startswith(f"{home}/") for home in roots):
            opened.directory(root, "its tests")
