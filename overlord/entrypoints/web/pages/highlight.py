"""Code in colours: spans with classes, everything else escaped. What cannot be read as its language is plain.

The code is a stranger's, and a language's patterns can take very long on a text that is made for it: each line is read by itself, and of
a whole diff only as much as there is time for.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from markupsafe import escape
from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from overlord.domain.text.plain import visible

WITHIN_S = 0.5
"""For all lines of a diff; those after it are plain."""
LONGEST_LINE = 240
"""A longer line is plain."""
MOST_CHARS = 2_000
"""Of a line, that are shown."""


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class Highlighter:
    """The colours of one diff."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = now() + WITHIN_S

    def html(self, path: str, line: str) -> str:
        """One line of a file, as HTML."""
        text = visible(line)[:MOST_CHARS]
        lexer = _lexer(path.rpartition("/")[2][-100:]) if len(text) <= LONGEST_LINE else None
        if lexer is None or self._now() > self._until:
            return str(escape(text))
        return "".join(_span(kind, piece) for kind, piece in lexer.get_tokens(text))


def _span(kind: object, text: str) -> str:
    name = STANDARD_TYPES.get(kind, "")
    return f'<span class="tok-{name[:1]}">{escape(text)}</span>' if name else str(escape(text))
