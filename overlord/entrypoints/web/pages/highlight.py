"""Code in colours: spans with classes, everything else escaped. What cannot be read as its language is plain."""

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import escape
from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
from pygments.token import STANDARD_TYPES, Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from overlord.domain.text.plain import visible

MOST_CHARS = 200_000
"""Longer text is shown without colours: a page is to be there at once."""
_LINE_CHARS = 2_000
_PLAIN = Token.Text


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def highlighted(path: str, lines: Sequence[str]) -> list[str]:
    """Each line as HTML."""
    shown = [visible(line)[:_LINE_CHARS] for line in lines]
    lexer = _lexer(path.rpartition("/")[2]) if sum(map(len, shown)) <= MOST_CHARS else None
    if lexer is None:
        return [str(escape(line)) for line in shown]
    done, current = list[str](), list[str]()
    for kind, text in lexer.get_tokens("\n".join(shown)):
        for index, piece in enumerate(text.split("\n")):
            if index:
                done.append("".join(current))
                current = []
            if piece:
                current.append(_span(kind, piece))
    done.append("".join(current))
    return done if len(done) == len(shown) else [str(escape(line)) for line in shown]


def _span(kind: object, text: str) -> str:
    name = STANDARD_TYPES.get(kind, "")
    return f'<span class="tok-{name[:1]}">{escape(text)}</span>' if name else str(escape(text))
