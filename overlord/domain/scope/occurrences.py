"""Which line of a file defines a name, and which files speak of it, told from single lines: no language is parsed, and what is
unclear is none."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

LONGEST_LINE = 400
"""A longer line is cut: what defines a name says so at its beginning."""
MOST_SYMBOLS = 60
LONGEST_SYMBOL = 100
LONGEST_PHRASE = 120
MOST_MENTIONING = 12
"""What more files than these speak of says little about any of them."""
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_OPTION = re.compile(r"--[a-z][\w-]{1,60}", re.ASCII)
_PHRASE = re.compile(r"[A-Za-z][\w ,'’-]*\w", re.ASCII)

_PYTHON = r"\s*(?:async\s+)?def\s+{s}\b|\s*class\s+{s}\b|{s}\s*(?::[^=]*)?=(?!=)|type\s+{s}\b"
_SCRIPT = (
    r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:function\s*\*?|class|const|let|var|interface|type|enum|namespace)\s+{s}(?![\w$])"
    r"|\s*(?:module\.)?exports\.{s}\s*="
    r"|\s*(?:(?:public|private|protected|static|async|override|get|set)\s+)*\*?{s}\s*(?:<[^>]*>)?\([^)]*\)\s*(?::[^{{]*)?\{{\s*$"
    r"|\s*(?:(?:public|private|protected|static|readonly)\s+)*{s}\s*(?::[^=]*)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]*)?=>)"
)
_GO = r"func\s+(?:\([^)]*\)\s*)?{s}\b|\s*(?:type|const|var)\s+{s}\b|\t{s}\s+(?:struct|interface)\b|\t{s}\b[^=:]*=\s*iota\b"
_RUST = (
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe)\s+)*"
    r"(?:fn|struct|enum|trait|type|union|mod|static|const|macro_rules!)\s+(?:mut\s+)?{s}\b"
    r"|\s*(?:unsafe\s+)?impl\b[^{{]*?\s{s}\b(?![^{{]*\sfor\s)"
)
_RUBY = r"\s*def\s+(?:self\.)?{s}(?![\w])|\s*(?:class|module)\s+(?:\w+::)*{s}\b|\s*{s}\s*=(?![=~])"
_TYPED = (
    r"\s*(?:[\w@]+\s+)*(?:class|interface|enum|struct|record|union|namespace|trait|object|fun|func|function|protocol)\s+{s}\b"
    r"|\s*#\s*define\s+{s}\b"
    r"|(?!\s*(?:return|new|else|throw|await|case|goto)\b)\s*(?:[\w<>\[\],.:*&~?]+\s+)+[*&]*(?:\w+::)*{s}\s*\([^;]*$"
)
_SHELL = r"\s*(?:function!?\s+)?(?:[sgb]:)?{s}\s*\(|\s*function\s+{s}\b"

_BY_SUFFIX = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"), _SCRIPT),
    "go": _GO,
    "rs": _RUST,
    **dict.fromkeys(("rb", "rake"), _RUBY),
    **dict.fromkeys(
        ("java", "kt", "scala", "swift", "cs", "php", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "dart"),
        _TYPED,
    ),
    **dict.fromkeys(("sh", "bash", "zsh", "vim"), _SHELL),
}
SUFFIXES = tuple(_BY_SUFFIX)
"""Of the files in which definitions are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """Where a commit's code has the words of an issue. What a bounded search does not come to is in neither."""

    definitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names, and the files that define each, as far as single lines tell that."""
    mentions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names and phrases, and the files that have each; none that more than `MOST_MENTIONING` files have."""


def is_phrase(words: str) -> bool:
    """Whether words can be a message that code holds as it is."""
    return len(words) <= LONGEST_PHRASE and words.count(" ") > 1 and bool(_PHRASE.fullmatch(words))


def is_option(word: str) -> bool:
    """Whether a word is an option of a command line, as code may hold it."""
    return bool(_OPTION.fullmatch(word))


def is_sought(word: str) -> bool:
    """Whether a word is one that code is searched for."""
    return is_symbol(word) or is_option(word) or is_phrase(word)


def is_symbol(word: str) -> bool:
    """Whether a word can be a name that code defines."""
    return len(word) <= LONGEST_SYMBOL and bool(_SYMBOL.fullmatch(word))


def defines(symbol: str, path: str, line: str) -> bool:
    """Whether this line of this file defines the symbol."""
    rule = _BY_SUFFIX.get(path[path.rfind(".") + 1 :].lower())
    return rule is not None and _pattern(rule, symbol).match(line[:LONGEST_LINE]) is not None


def occurrences(words: Iterable[str], lines: Iterable[tuple[str, str]]) -> Occurrences:
    """Where each symbol and phrase is, of lines as a search found them: their paths and their text."""
    wanted = dict.fromkeys(words)
    defining: dict[str, dict[str, None]] = {}
    holding: dict[str, dict[str, None]] = {}
    whole = {word: _whole(word) for word in wanted}
    for path, line in lines:
        cut = line[:LONGEST_LINE]
        for word, pattern in whole.items():
            if word not in cut or not pattern.search(cut):
                continue
            holding.setdefault(word, {})[path] = None
            if defines(word, path, cut):
                defining.setdefault(word, {})[path] = None
    return Occurrences(
        definitions={word: tuple(defining[word]) for word in wanted if word in defining},
        mentions={
            word: tuple(holding[word]) for word in wanted if 0 < len(holding.get(word, ())) <= MOST_MENTIONING
        },
    )


def _whole(word: str) -> re.Pattern[str]:
    ends = r"[\w$-]" if is_option(word) else r"[\w$]"
    return re.compile(rf"(?<![\w$]){re.escape(word)}(?!{ends})")


@lru_cache(maxsize=1024)
def _pattern(rule: str, symbol: str) -> re.Pattern[str]:
    return re.compile(rule.format(s=re.escape(symbol)))
