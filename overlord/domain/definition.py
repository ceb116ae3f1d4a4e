"""Which line of a file defines a name, told from that line alone: no language is parsed, and what is unclear is none."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

Definitions = Mapping[str, tuple[str, ...]]
"""Names, and the files of a commit that define each, as far as single lines tell that. What nothing defines is left out, and so
is what a bounded search does not come to."""
LONGEST_LINE = 400
"""A longer line is cut: what defines a name says so at its beginning."""
MOST_SYMBOLS = 60
LONGEST_SYMBOL = 100
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)

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


def is_symbol(word: str) -> bool:
    """Whether a word can be a name that code defines."""
    return len(word) <= LONGEST_SYMBOL and bool(_SYMBOL.fullmatch(word))


def defines(symbol: str, path: str, line: str) -> bool:
    """Whether this line of this file defines the symbol."""
    rule = _BY_SUFFIX.get(path[path.rfind(".") + 1 :].lower())
    return rule is not None and _pattern(rule, symbol).match(line[:LONGEST_LINE]) is not None


def definitions(symbols: Iterable[str], lines: Iterable[tuple[str, str]]) -> Definitions:
    """The files that define each symbol, of lines as a search found them: their paths and their text."""
    wanted = dict.fromkeys(symbols)
    found: dict[str, dict[str, None]] = {}
    for path, line in lines:
        cut = line[:LONGEST_LINE]
        for symbol in wanted:
            if symbol in cut and defines(symbol, path, cut):
                found.setdefault(symbol, {})[path] = None
    return {symbol: tuple(found[symbol]) for symbol in wanted if symbol in found}


@lru_cache(maxsize=1024)
def _pattern(rule: str, symbol: str) -> re.Pattern[str]:
    return re.compile(rule.format(s=re.escape(symbol)))
