"""A token for each session. It is made from the session's name with a key of this home, so that none has to be kept: it opens
nothing once the session has ended."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path

PREFIX, COPY_PREFIX = "ovs_", "ovc_"
"""What the token of a session begins with, and that of a copy, so that people and scanners know one."""
KEY_BYTES = 32


class SessionTokens:
    """Makes and compares the tokens of sessions."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def at(cls, file: Path) -> "SessionTokens":
        """With the key in this file, which is made at first. Raises OSError."""
        return cls(kept_secret(file, lambda: secrets.token_bytes(KEY_BYTES)))

    def of(self, session: str) -> str:
        """The token of a session."""
        return PREFIX + self._digest("session", session)

    def of_copy(self, space: str, name: str) -> str:
        """The token of a repository's ready copy."""
        return COPY_PREFIX + self._digest("copy", space.casefold(), name)

    def _digest(self, *words: str) -> str:
        said = "\0".join(words).encode("utf-8", "replace")
        digest = hmac.new(self._key, said, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")

    def opens(self, token: str, session: str) -> bool:
        """Whether this is the token of that session."""
        return _same(token, self.of(session))

    def opens_copy(self, token: str, space: str, name: str) -> bool:
        """Whether this is the token of that copy."""
        return _same(token, self.of_copy(space, name))


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def kept_secret(file: Path, make: Callable[[], bytes]) -> bytes:
    """What a file holds that its owner alone may read; what `make` makes, written there, where there is none. Of two programs that
    make it at the same time, both get the same. Raises OSError."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = make()
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(new)
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            return file.read_bytes()
    finally:
        draft.unlink(missing_ok=True)
    return new
