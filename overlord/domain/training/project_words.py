"""The words by which a project is known: its paths, its names, and what its code calls things. None of them is in a record.

What every project has (`README.md`, `setUp`, a directory `src`) says nothing about this one and is no such word. Identifiers count
from two parts on (`billing_total`, `BillingTotal`), or when they are rare words: a function that is called `add` would otherwise
forbid that word everywhere.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from overlord.domain.training.ordinary_words import ORDINARY_FILES, ORDINARY_IDENTIFIERS, ORDINARY_NAMES

MOST_WORDS = 200_000
MOST_SOURCE_CHARS = 1_000_000
"""Of one file whose identifiers are collected."""
LEAST_NAME = 3
LEAST_RARE = 7
"""Letters of an identifier of one part that is taken for a rare word."""

_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DEFINED = re.compile(
    r"^[ \t]{0,40}(?:(?:export|public|private|protected|internal|static|final|abstract|async|pub|default|open|data|sealed)\s+){0,5}"
    r"(?:def|class|func|function|fn|struct|interface|type|const|let|var|enum|trait|module|namespace|val|record|object)\s+"
    r"(?:\([^()\n]{0,80}\)\s{0,4})?([A-Za-z_$][\w$]{2,79})(?=\s{0,4}(?:[(<:{=\[;,!]|$))",
    re.MULTILINE,
)
_ASSIGNED = re.compile(
    r"^[ \t]{0,8}([A-Za-z_][\w]{2,79})(?:\s{0,4}:[^=\n]{1,80})?\s{0,4}=(?!=)", re.MULTILINE
)
_TOKEN = re.compile(r"[^\W_]+")
_SEPARATOR = re.compile(r"[-_. ]+")


@dataclass(frozen=True, slots=True)
class ProjectWord:
    """A word of the project that stands in a text."""

    kind: str
    """`path`, `file name`, `name` or `identifier`."""
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectWords:
    """What a record may not have in it."""

    paths: frozenset[str] = frozenset()
    """With a directory; in small letters, as file names and names are."""
    file_names: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Of the repository, its owner, its people, its hosts."""
    identifiers: frozenset[str] = frozenset()
    _index: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", _index(self))

    def found_in(self, text: str) -> ProjectWord | None:
        """The first word of the project in a text; None where there is none. Takes time in proportion to the text's length."""
        text = _folded(text)
        for token in _TOKEN.finditer(text):
            for kind, word in self._index.get(token[0], ()):
                begin = token.start() - word.index(token[0])
                if begin >= 0 and text.startswith(word, begin) and _stands_alone(text, begin, word, kind):
                    return ProjectWord(kind, word)
        return None


def project_words(
    paths: Iterable[str], *, names: Iterable[str] = (), sources: Mapping[str, str] | None = None
) -> ProjectWords:
    """The words of a project: `paths` are its listing, `names` the repository's full name, its people and hosts, `sources` the text of
    those files whose identifiers are collected."""
    listed = [_folded(path).strip("/") for path in paths][:MOST_WORDS]
    files = {PurePosixPath(path).name for path in listed} - ORDINARY_FILES - {""}
    found = {
        variant
        for path, text in (sources or {}).items()
        if path
        for name in _identifiers_of(text)
        for variant in (_folded(name), "".join(_PART.findall(name)).lower())
    }
    return ProjectWords(
        paths=frozenset(path for path in listed if "/" in path),
        file_names=frozenset(name for name in files if _is_file_name(name)),
        names=frozenset(variant for name in names for variant in _names_of(name)),
        identifiers=frozenset(sorted(found)[:MOST_WORDS]),
    )


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\\", "/").lower()


def _is_file_name(name: str) -> bool:
    """Whether a name is one of a file whatever stands around it: `ledger.py`; a file that is called `run` is not."""
    return "." in name.strip(".") or name.startswith(".")


def _names_of(name: str) -> Iterator[str]:
    """A name as it may be written; of a full one, both parts too."""
    whole = _folded(name).strip("/@ ")
    parts = [part for part in whole.split("/") if part]
    if len(parts) > 1:
        yield whole
    for part in parts:
        spelt = {part, *(_SEPARATOR.sub(mark, part) for mark in ("", "-", "_", " "))}
        yield from (item for item in spelt if len(item) >= LEAST_NAME and item not in ORDINARY_NAMES)


def _identifiers_of(text: str) -> Iterator[str]:
    for pattern in (_DEFINED, _ASSIGNED):
        for match in pattern.finditer(text[:MOST_SOURCE_CHARS]):
            if is_distinctive(match[1]):
                yield match[1]


def is_distinctive(identifier: str) -> bool:
    """Whether an identifier says which project it is of."""
    if identifier.startswith("__") and identifier.endswith("__"):
        return False
    parts = _PART.findall(identifier)
    joined = "".join(parts).lower()
    if not joined or joined in ORDINARY_IDENTIFIERS or joined in ORDINARY_NAMES:
        return False
    return len(parts) > 1 or len(joined) >= LEAST_RARE


def _index(words: ProjectWords) -> dict[str, tuple[tuple[str, str], ...]]:
    """Each word under its longest run of letters, by which a text is looked through once."""
    index = defaultdict[str, list[tuple[str, str]]](list)
    kinds = (
        ("path", words.paths),
        ("file name", words.file_names),
        ("name", words.names),
        ("identifier", words.identifiers),
    )
    for kind, of_kind in kinds:
        for word in sorted(of_kind):
            tokens = _TOKEN.findall(word)
            if tokens:
                index[max(tokens, key=len)].append((kind, word))
    return {token: tuple(found) for token, found in index.items()}


def _stands_alone(text: str, begin: int, word: str, kind: str) -> bool:
    """Whether a word is not a part of a longer one. A name is found in an identifier too, as in `acme_client`."""
    before, after = text[begin - 1 : begin], text[begin + len(word) : begin + len(word) + 1]
    joins = "" if kind == "name" else "_"
    return not any(char.isalnum() or (char and char in joins) for char in (before, after))
