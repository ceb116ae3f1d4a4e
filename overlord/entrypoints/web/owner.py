"""The owner of the home, who alone can read what is in it: their token, and the browsers it was shown to."""

import getpass
import os
import secrets
from pathlib import Path

from overlord.domain.access import digest_of
from overlord.entrypoints.web.sign_in import same
from overlord.home import Home

SHORTEST_TOKEN = 43
"""What 32 random bytes are; a shorter one was cut off while it was written."""
_Stamp = tuple[int, int, int] | None


def owner_token(home: Home) -> str:
    """The token of whoever owns the home, who alone can read it there; made once, whole or not at all."""
    file, new = home.page_token, home.page_token.with_suffix(".new")
    known = _read(file)
    if len(known) >= SHORTEST_TOKEN:
        return known
    token = secrets.token_urlsafe(32)
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as made:
        made.write(token)
        made.flush()
        os.fsync(made.fileno())
    new.replace(file)
    return token


def owner() -> str:
    """The name of whoever runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


class OwnerToken:
    """The token as its file has it now: once that is replaced or removed, the one before counts for nothing, nor what it began."""

    def __init__(self, home: Home) -> None:
        """Raises OSError where it cannot be kept."""
        self._home = home
        self._token = owner_token(home)
        self._stamp = _stamp_of(home.page_token)

    @property
    def now(self) -> str:
        """The token; empty where there is none that counts."""
        stamp = _stamp_of(self._home.page_token)
        if stamp != self._stamp:
            self._stamp, self._token = stamp, _read(self._home.page_token)
        return self._token if len(self._token) >= SHORTEST_TOKEN else ""

    def is_it(self, sent: str) -> bool:
        """Whether that is the token, which may be anything that a stranger sends."""
        now = self.now
        return bool(now) and same(sent, now)

    def began(self, digest: str) -> bool:
        """Whether a session was begun with it, by the hash that is kept with the session."""
        now = self.now
        return bool(now) and same(digest, digest_of(now))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _stamp_of(file: Path) -> _Stamp:
    """What tells that a file is another; None while it is not there."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
