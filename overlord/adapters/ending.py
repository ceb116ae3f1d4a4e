"""What every runner says in the same way: that a session ended, and what it printed.

Output of a session is hostile text: nothing in it may move a cursor, recolour a terminal or flood a page.
"""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator

from overlord.domain.identifiers import SessionId

LINE_CHARS = 2_000
"""Where one line of a log is cut."""
_UNUSUAL = re.compile(r"[^\t\x20-\x7e]")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


class Endings:
    """Sessions that ended, told once each and kept until somebody follows. One follower at a time."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[SessionId | None] = asyncio.Queue()
        self._closed = False

    def notify(self, session: SessionId) -> None:
        """Note an ending; from the event loop's thread."""
        self._told.put_nowait(session)

    def close(self) -> None:
        """End whoever follows."""
        self._closed = True
        self._told.put_nowait(None)

    async def follow(self) -> AsyncIterator[SessionId]:
        while not self._closed:
            session = await self._told.get()
            if session is None:
                return
            yield session


def harmless(data: bytes, *, limit_bytes: int) -> str:
    """The end of a log as text that is safe to print: cut lines, no control, format or bidi characters."""
    tail = data[-limit_bytes:] if limit_bytes > 0 else b""
    lines = tail.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
    return "\n".join(_visible(line) for line in lines)


def _visible(line: str) -> str:
    cut = len(line) - LINE_CHARS
    shown = _UNUSUAL.sub(_escaped_character, line[:LINE_CHARS])
    return shown if cut <= 0 else f"{shown}… [{cut} more characters]"


def _escaped_character(match: re.Match[str]) -> str:
    """What stands for a character that does something instead of being seen."""
    character = match[0]
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"<U+{code:04X}>"
