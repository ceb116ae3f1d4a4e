"""Making other people's words safe to show: one line, no control or invisible characters, no commands to a forge."""

import html
import re
import unicodedata
from collections.abc import Sequence

_ENTITY = re.compile(r"&(?=#?\w+;)")
_LIVE = re.compile(r"(@(?=\w)|#(?=\w)|GH\\?-(?=\d)|:(?=\\?/\\?/)|\bwww(?=\.))", re.IGNORECASE)
"""Where a mention, a reference (what a closing keyword needs) or an address begins, a backslash notwithstanding."""
ZERO_WIDTH = "\u200b"


def visible(text: str) -> str:
    """Without control, format (bidi, zero-width, tag) and private characters; line breaks and tabs stay."""
    return "".join(char for char in text if char in "\n\t" or not _is_hidden(char))


def length(text: str) -> int:
    """Characters as chats' clients count them, in UTF-16: an emoji has two."""
    return len(text) + sum(char > "\uffff" for char in text)


def _is_hidden(char: str) -> bool:
    # All of the tags' plane, also what no version of Unicode has given a meaning yet.
    return unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs"} or "\U000e0000" <= char <= "\U000e0fff"


def defused(text: str) -> str:
    """Text a forge reads as text: no mentions, no closing keywords, no references, no HTML, no images."""
    text = _ENTITY.sub("&amp;", visible(text))
    text = _LIVE.sub(rf"\1{ZERO_WIDTH}", text)
    return text.replace("<", "&lt;").replace("![", "!&#91;").replace("](", "]&#40;")


def defused_line(text: str) -> str:
    """`defused`, in one line."""
    return " ".join(defused(text).split())


def plain_line(text: str, *, limit: int) -> str:
    """One line of plain words for titles and commit messages."""
    line = re.sub(r"\w*://", " ", visible(text))
    line = re.sub(r"[@#]+(?=\w)", "", " ".join(line.split()))
    line = re.sub(r"(GH)\\?-(?=\d)", r"\1 ", line, flags=re.IGNORECASE)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quoted(text: str, *, limit: int = 2000) -> str:
    """Somebody's words as a Markdown quote, cut and defused."""
    text = defused(text)
    if len(text) > limit:
        text = text[:limit].rstrip() + " …"
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> (nothing)"


def unquoted(text: str) -> str:
    """Somebody's words out of a text in which they are `quoted`; all of it where nothing is."""
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith(">")]
    return visible(html.unescape("\n".join(lines) or text))


def code_block(text: str, *, limit: int = 4000) -> str:
    """Output as a fenced block that its own content cannot close; the end is what is kept."""
    text = visible(text)
    if len(text) > limit:
        text = "…" + text[-limit:]
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}"


def last_of(items: Sequence[str], most: int) -> tuple[Sequence[str], str]:
    """The last of many, and how many are not among them: empty, or ` and 3 more`."""
    more = len(items) - most
    return items[-most:], f" and {more:,} more" if more > 0 else ""


def count(number: int, noun: str) -> str:
    """`1 file`, `3 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: int) -> str:
    """Bytes in the unit a person would use: `812 bytes`, `3.4 MB`, `21 GB`."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{value:.1f} {unit}" if unit != "bytes" and value < 10 else f"{value:.0f} {unit}"
        value /= 1000
    return f"{size} bytes"
