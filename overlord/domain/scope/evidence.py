"""Which files an issue speaks of, and how clearly: files it names, frames of a stack trace, names that files define, and names
files bear."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from overlord.domain.scope.issue_text import Frame, IssueText, Name, Place, words
from overlord.domain.scope.named_files import in_links
from overlord.domain.scope.occurrences import Occurrences
from overlord.domain.scope.path_kind import fold, is_code, is_doc, is_sample, is_source, is_test, stem_of
from overlord.domain.scope.tree import Tree

MOST_WORDS = 4_000
"""Words that are looked at as names of files."""
LONGEST_PHRASE = 100
MOST_DEFINING = 3
"""A name that more files define says little about any of them."""
MOST_BEARING = 5
"""A name that more files bear says little about any of them."""
RARE_CHARS = 7
"""A word of the title so long that the one file it is the name of is hardly meant by chance."""
MOST_IN_DIRECTORY = 6
MOST_READING = 1
MOST_CALLING = 2
MOST_SPEAKING = 2
"""Tests that are opened for what they speak of."""
LEAST_WEIGHT = 0.7
"""Of a test, to be meant: a name that hardly another test speaks of, or several that some do."""
INNERMOST = 2
"""How many frames of a stack trace are thought to be to blame."""
_PATH = re.compile(r"[^\s`'\"<>()\[\]{}|*,;!?=]{3,400}")
_PATHLIKE = re.compile(
    r"(?<!\S)[^\s,;()/\\]{0,100}[/\\][^\s,;()]{0,200}\.\w{1,5}\b|\w{1,100}(?:\.\w{1,100}){2,}"
)
_WIDE = re.compile(
    r"\b(?:everywhere|throughout|across|all over|in all|all (?:of )?(?:the )?(?:packages|commands|modules|files|crates|tests|docs)"
    r"|every (?:package|command|module|file|crate)|whole (?:package|project|code ?base)|code ?base)\b",
    re.IGNORECASE,
)
_DOCS = re.compile(
    r"(?<![\w-])(?:docs?|documentation|documented|readme|tutorial|guide|man ?page|changelog|docstrings?|howto|faq|wiki)(?![\w-])",
    re.IGNORECASE,
)
_CHANGELOG = re.compile(
    r"(?<![\w-])(?:change ?log(?!-)|release notes|changes\.(?:md|rst|txt)|history\.(?:md|rst))\b",
    re.IGNORECASE,
)
_README = re.compile(r"\breadme\b", re.IGNORECASE)
_RENAME = re.compile(r"\b(?:rename|replace)\b", re.IGNORECASE)
_MIGRATION = re.compile(r"migration", re.IGNORECASE)
_PROSE = tuple(place for place in Place if place is not Place.BLOCK)
_COMMAND = re.compile(r"\bcommand[- ]line\b|\bcli\b", re.IGNORECASE)
_OPTION = re.compile(r"(?:^|\s)-{1,2}[a-z][\w-]*", re.IGNORECASE)
_COMMAND_LINE = frozenset(
    map(fold, ("cli", "main", "options", "flags", "args", "arguments", "cmdline", "defs", "command"))
)
_DULL_WORDS = """
test tests docs doc src source lib index main core util utils base common types type error errors exception exceptions file files name
names path paths version config default new old list set get add create delete update edit read write open close run
build release text time date key value data model item result order line lines word package packages command commands
script scripts example examples example app api client server request response html json yaml python node rust go
window windows linux mac bug fix issue feature please support option options message string number function class
method module import template templates
"""
_DULL = frozenset(map(fold, _DULL_WORDS.split()))


class Strength(IntEnum):
    """How clearly a file is meant."""

    HINTED = 1
    LIKELY = 2
    CLEAR = 3
    DEFINED = 4
    BLAMED = 5
    NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One file, how clearly it is meant, and why."""

    path: str
    strength: Strength
    why: str
    is_firm: bool = True
    """False where a single word of the title may be there by chance."""


def gather(
    issue_text: IssueText, labels: Sequence[str], tree: Tree, occurrences: Occurrences
) -> tuple[Evidence, ...]:
    """The files an issue speaks of, each with what speaks for it most; the clearest first."""
    denied = {path for clause in issue_text.denied for path in _resolved(clause, tree)}
    named = list(_by_name(issue_text, tree))
    found = [
        *named,
        *_blamed(issue_text.frames, tree),
        *_defining(issue_text, tree, occurrences.definitions),
        *_saying(issue_text, tree, occurrences),
        *_reading(issue_text, tree, occurrences),
        *_calling(issue_text, tree, occurrences),
        *_bearing(issue_text, tree),
    ]
    denied -= {item.path for item in named}
    best: dict[str, Evidence] = {}
    for item in found:
        if item.path not in denied and (item.path not in best or item.strength > best[item.path].strength):
            best[item.path] = item
    if not any(item.strength >= Strength.CLEAR and is_source(item.path) for item in best.values()):
        best |= {item.path: item for item in _command_line(issue_text, labels, tree) if item.path not in best}
    kept = _without_chance(_about_docs(issue_text, labels, list(best.values())))
    return tuple(sorted(kept, key=lambda item: -item.strength))


def speaks_of_everything(issue_text: IssueText) -> bool:
    """Whether the work is spread by its nature."""
    renames = _is_mentioned(issue_text, _RENAME, Place.TITLE) and _is_mentioned(issue_text, _WIDE, Place.TEXT)
    return renames or _is_mentioned(issue_text, _WIDE, Place.TITLE)


def speaks_of_changelog(issue_text: IssueText) -> bool:
    return _is_mentioned(issue_text, _CHANGELOG, *_PROSE)


def speaks_of_readme(issue_text: IssueText) -> bool:
    return _is_mentioned(issue_text, _README, *_PROSE)


def speaks_of_migration(issue_text: IssueText) -> bool:
    return _is_mentioned(issue_text, _MIGRATION, *_PROSE)


def _is_mentioned(issue_text: IssueText, pattern: re.Pattern[str], *places: Place) -> bool:
    return any(pattern.search(passage.text) for passage in issue_text.passages if passage.place in places)


def speaks_of_docs(issue_text: IssueText, labels: Sequence[str]) -> bool:
    """Whether documentation is what the issue is about."""
    return bool(_DOCS.search(issue_text.title)) or any(_DOCS.search(label) for label in labels)


def _about_docs(issue_text: IssueText, labels: Sequence[str], found: list[Evidence]) -> list[Evidence]:
    """Of an issue about documentation only that; of any other no page that it does not name."""
    pages = [item for item in found if is_doc(item.path)]
    if not pages and speaks_of_docs(issue_text, labels):
        return [item for item in found if item.strength >= Strength.DEFINED]
    if pages and speaks_of_docs(issue_text, labels):
        top = max(item.strength for item in pages)
        return [item for item in pages if item.strength == top]
    return [item for item in found if not is_doc(item.path) or item.strength >= Strength.NAMED]


def _without_chance(found: list[Evidence]) -> list[Evidence]:
    """Files that only bear a word of the title mean nothing beside files that the text is clearer about; a test may."""
    if not any(item.strength >= Strength.DEFINED and is_source(item.path) for item in found):
        return found
    return [item for item in found if item.strength != Strength.CLEAR or item.is_firm or is_test(item.path)]


def _by_name(issue_text: IssueText, tree: Tree) -> Iterator[Evidence]:
    for passage in issue_text.passages:
        strength = Strength.NAMED if passage.place > Place.BLOCK else Strength.HINTED
        for path in _resolved(passage.text, tree):
            by_the_way = path.startswith(".git") and passage.place < Place.CODE
            clear = Strength.LIKELY if by_the_way else strength
            yield Evidence(path=path, strength=clear, why=f"named in {passage.place.description}")
        for directory in _directories(passage.text, tree) if passage.place > Place.BLOCK else ():
            files = [path for path in tree.files_in(directory) if is_source(path)]
            near = Strength.CLEAR if len(files) <= MOST_IN_DIRECTORY else Strength.HINTED
            for path in files:
                yield Evidence(
                    path=path, strength=near, why=f"in {directory}, named in {passage.place.description}"
                )


def _resolved(text: str, tree: Tree) -> tuple[str, ...]:
    """The files that a clause names, in any of the ways people write them."""
    linked = (next((path for path in some if path in tree), "") for some in in_links(text))
    lines = [word[0] for word in _PATH.finditer(text) if "." in word[0] and "://" not in word[0]]
    plain = (tree.resolve(word) or (tree.module(word) if word.count(".") > 1 else "") for word in lines)
    return tuple(dict.fromkeys(filter(None, (*linked, *plain))))


def _directories(text: str, tree: Tree) -> tuple[str, ...]:
    """The directories that a clause names, by a path of more than one part."""
    names = (word[0].strip("./") for word in _PATH.finditer(text) if "/" in word[0].strip("./"))
    return tuple(dict.fromkeys(word for word in names if word in tree.directories))


def _blamed(frames: Sequence[Frame], tree: Tree) -> Iterator[Evidence]:
    """The innermost frames of a stack trace that lie in the tree; further out is only how one got there."""
    there = [path for frame in frames if (path := tree.resolve(frame.path))]
    for path in dict.fromkeys(there[:INNERMOST]):
        yield Evidence(path=path, strength=Strength.BLAMED, why="in the stack trace, near the error")
    for path in dict.fromkeys(there[INNERMOST:]):
        yield Evidence(path=path, strength=Strength.HINTED, why="in the stack trace")


def _defining(
    issue_text: IssueText, tree: Tree, definitions: Mapping[str, Sequence[str]]
) -> Iterator[Evidence]:
    for name in issue_text.names():
        symbol, files = _files_of(name, tree, definitions)
        if not files:
            continue
        rare = len(files) == 1 or (len(files) <= MOST_DEFINING and len(name.parts) > 1)
        if name.place >= Place.TEXT and rare:
            strength = Strength.DEFINED
        elif name.place >= Place.CODE and len(files) <= MOST_DEFINING:
            strength = Strength.CLEAR
        elif len(files) <= MOST_DEFINING:
            strength = Strength.LIKELY
        else:
            continue
        for path in files:
            yield Evidence(
                path=path, strength=strength, why=f"defines `{symbol}`, named in {name.place.description}"
            )
    for word in issue_text.plain:
        files = _code(definitions.get(word, ()), tree)
        if len(files) == 1 and fold(word) not in _DULL:
            yield Evidence(
                path=files[0], strength=Strength.LIKELY, why=f"defines `{word}`, a word of the title"
            )
    yield from _running(issue_text.frames, tree, definitions)


def _saying(issue_text: IssueText, tree: Tree, occurrences: Occurrences) -> Iterator[Evidence]:
    """Code that holds a message the text quotes."""
    for phrase in issue_text.phrases:
        files = _code(occurrences.mentions.get(phrase, ()), tree)
        if len(files) <= MOST_DEFINING:
            for path in files:
                yield Evidence(
                    path=path, strength=Strength.DEFINED, why=f"says “{phrase}”, quoted in the text"
                )


def _reading(issue_text: IssueText, tree: Tree, occurrences: Occurrences) -> Iterator[Evidence]:
    """Code that holds an option the text names."""
    for option in issue_text.options:
        files = _code(occurrences.mentions.get(option, ()), tree)
        if len(files) <= MOST_READING:
            for path in files:
                yield Evidence(path=path, strength=Strength.DEFINED, why=f"has the option `{option}`")


def _calling(issue_text: IssueText, tree: Tree, occurrences: Occurrences) -> Iterator[Evidence]:
    """Code beside what defines a name, that uses it while hardly anything else does."""
    for name in issue_text.names():
        for part in name.parts if name.place >= Place.TEXT else ():
            home = _code(occurrences.definitions.get(part, ()), tree)
            files = [path for path in _code(occurrences.mentions.get(part, ()), tree) if path not in home]
            if len(home) != 1 or len(files) > MOST_CALLING:
                continue
            for path in files:
                if path.rpartition("/")[0] == home[0].rpartition("/")[0]:
                    why = f"uses `{part}`, named in {name.place.description}"
                    yield Evidence(path=path, strength=Strength.DEFINED, why=why)


def tests_speaking(
    issue_text: IssueText, tree: Tree, occurrences: Occurrences
) -> tuple[tuple[str, str], ...]:
    """The tests that speak of most of what the text names, and of what: a name counts the more, the fewer files have it."""
    weight: defaultdict[str, float] = defaultdict(float)
    data: dict[str, str] = {}
    names = (part for name in issue_text.names() if name.place is not Place.BLOCK for part in name.parts)
    for word in dict.fromkeys((*issue_text.phrases, *issue_text.options, *names)):
        tests = [path for path in occurrences.mentions.get(word, ()) if path in tree.tests]
        for path in tests:
            weight[path] += 1 / len(tests)
            data.setdefault(path, word)
    best = sorted(weight, key=lambda path: (-weight[path], path))
    return tuple((path, data[path]) for path in best[:MOST_SPEAKING] if weight[path] >= LEAST_WEIGHT)


def _running(
    frames: Sequence[Frame], tree: Tree, definitions: Mapping[str, Sequence[str]]
) -> Iterator[Evidence]:
    """Where what a stack trace calls is defined: its files may be those of a build. The innermost is the one to look at."""
    strength = Strength.CLEAR
    for frame in frames:
        symbol = frame.function.rpartition(".")[2]
        files = _code(definitions.get(symbol, ()), tree)
        if len(files) == 1:
            yield Evidence(path=files[0], strength=strength, why=f"defines `{symbol}`, in the stack trace")
            strength = Strength.HINTED


def _files_of(
    name: Name, tree: Tree, definitions: Mapping[str, Sequence[str]]
) -> tuple[str, tuple[str, ...]]:
    """What of a dotted name is defined, and where: both parts in one file, else in the file that a part is the name of, else
    the part that fewest files define."""
    by_part = {part: files for part in name.parts if (files := _code(definitions.get(part, ()), tree))}
    if not by_part:
        return "", ()
    owner, files = min(by_part.items(), key=lambda item: len(item[1]))
    both = tuple(path for path in files if all(path in others for others in by_part.values()))
    if len(by_part) > 1 and both:
        return ".".join(by_part), both
    called = {fold(part) for part in name.parts}
    homes = tuple(path for path in files if fold(stem_of(path)) in called - {fold(owner)})
    return owner, homes or files


def _code(paths: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """Those of the files that are there and do the work."""
    return tuple(path for path in paths if path in tree and is_source(path))


def _bearing(issue_text: IssueText, tree: Tree) -> Iterator[Evidence]:
    """Files that are called what the title, or a span of code, says."""
    wanted: dict[str, tuple[Strength, str]] = {}
    for phrase, strength, place in islice(_phrases(issue_text), MOST_WORDS):
        key = fold(phrase.replace(" ", ""))
        if key not in wanted or wanted[key][0] < strength:
            wanted[key] = (strength, f"called “{phrase}”, said in {place}")
    for key, files in tree.called(wanted).items():
        strength, why = wanted[key]
        pages = [path for path in files if is_doc(path) and not is_sample(path)]
        tests = [path for path in files if path in tree.tests and fold(stem_of(path)) in key]
        sources = [path for path in files if is_source(path)]
        others = [
            path for path in files if not (is_code(path) or is_doc(path) or is_test(path) or is_sample(path))
        ]
        if len(sources) > MOST_BEARING or (strength <= Strength.CLEAR and len(tests) > 1):
            tests = []
        is_rare = len(sources) == 1 and len(key) >= RARE_CHARS
        for some in (sources, tests, pages, others if strength > Strength.CLEAR else []):
            if len(some) <= MOST_BEARING:
                yield from (
                    Evidence(
                        path=path, strength=strength, why=why, is_firm=is_rare or strength > Strength.CLEAR
                    )
                    for path in some
                )


def _phrases(issue_text: IssueText) -> Iterator[tuple[str, Strength, str]]:
    """Runs of one to four words, and how clearly a file of that name would be meant."""
    for passage in issue_text.passages:
        if passage.place is Place.BLOCK:
            continue
        tokens = words(_PATHLIKE.sub(" ", passage.text))
        in_name = passage.place in {Place.TITLE, Place.CODE}
        for length in (1, 2, 3, 4):
            for start in range(len(tokens) - length + 1):
                phrase = " ".join(tokens[start : start + length])
                if len(phrase) > LONGEST_PHRASE:
                    continue
                folded = fold(phrase.replace(" ", ""))
                if (length == 1 and (folded in _DULL or len(folded) < 4)) or (len(folded) < 5 and length > 1):
                    continue
                if length > 1:
                    strength = Strength.DEFINED if in_name else Strength.LIKELY
                else:
                    strength = Strength.CLEAR if passage.place is Place.TITLE else Strength.HINTED
                yield phrase, strength, passage.place.description


def _command_line(issue_text: IssueText, labels: Sequence[str], tree: Tree) -> Iterator[Evidence]:
    """Where options of a command line are read, if that is what the issue speaks of."""
    lines = [passage.text for passage in issue_text.passages if passage.place is not Place.BLOCK]
    is_about = any(_COMMAND.search(text) for text in (*lines, *labels))
    if not is_about and not any(_OPTION.search(text) for text in lines):
        return
    files = [path for path in tree.paths if is_source(path) and fold(stem_of(path)) in _COMMAND_LINE]
    strength = Strength.CLEAR if is_about and len(files) <= MOST_DEFINING else Strength.LIKELY
    for path in files:
        yield Evidence(path=path, strength=strength, why="reads the command line")
