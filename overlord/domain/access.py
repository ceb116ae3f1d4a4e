"""Access of people who come over HTTP: a token is shown once, and what is kept of it is a hash.

The hash is one round of SHA-256, and no slow one: a secret of 256 random bits cannot be guessed, so there is nothing to slow down,
and every request costs the same small work.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

TOKEN_PREFIX = "ovl_"
"""What a token's text begins with, so that people and scanners know one when they see it; 43 url-safe characters follow."""
SESSION_LASTS = timedelta(days=7)
"""How long a browser is signed in at most."""
ACCOUNT_LASTS = timedelta(days=1)
"""The same of one that signed in with an account at GitHub."""
ASKED_EVERY = timedelta(minutes=15)
"""How old at most what GitHub says of an account may be where something is done; looks are gone on with, while it is asked anew."""
ASKED_AT_LEAST = timedelta(hours=1)
"""After so long without an answer of GitHub's, an account may do and see nothing."""
USE_NOTED_EVERY = timedelta(minutes=1)
"""How often a use is written down at most: a page that asks every second is no reason to write every second."""
_MOST_CHARS = 128
"""As much of a secret as is looked at. No secret of ours is as long, so what is cut off makes no two of them equal."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", re.ASCII)


class AccessRight(StrEnum):
    """What a token's bearer may, each with all before it."""

    READ = "read"
    """Look."""
    ACT = "act"
    """Have work done, stopped and decided, as an approver may."""
    ADMIN = "admin"
    """Everything, as the operator of the machine may."""

    def covers(self, needed: "AccessRight") -> bool:
        """Whether it is enough for what needs that right."""
        order = list(AccessRight)
        return order.index(self) >= order.index(needed)


def is_token_name(text: str) -> bool:
    """Whether a token can be called that: 1 to 40 of a-z, 0-9 and dashes, the first of them no dash, which would begin an option."""
    return _NAME.fullmatch(text) is not None


def is_login(text: str) -> bool:
    """Whether an account at GitHub can be called that. An app's bot cannot: it is nobody who signs in."""
    return _LOGIN.fullmatch(text) is not None


def digest_of(secret: str) -> str:
    """What is kept of a secret, of a token or a cookie. Of any text at all: what a stranger sends may be long, or no Unicode."""
    return sha256(secret[:_MOST_CHARS].encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A token without its secret: who may come with it, to what, until when."""

    id: int
    name: str
    right: AccessRight
    spaces: tuple[str, ...]
    """The repositories it is for, as the settings spell them; empty for all."""
    created_at: datetime
    created_by: str
    """Who made it, as the ledger names them: `cli:alice`."""
    expires_at: datetime | None = None
    """When it counts no more; None for never."""
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def actor(self) -> str:
        """Whom the ledger says did what is done with it."""
        return f"web:{self.name}"

    def why_not(self, at: datetime) -> str:
        """Why it counts for nothing, after its name; empty where it counts."""
        if self.revoked_at is not None:
            return "was revoked"
        return "has expired" if self.expires_at is not None and self.expires_at <= at else ""

    def reaches(self, space: str) -> bool:
        """Whether it is for a repository. What is about everything (an empty name) is out of reach of one that is for some."""
        return not self.spaces or space.casefold() in {name.casefold() for name in self.spaces}

    def is_use_due(self, at: datetime) -> bool:
        """Whether a use now is to be written down."""
        return _is_due(self.last_used_at, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account at GitHub that is signed in, and what GitHub says of it."""

    login: str
    spaces: tuple[str, ...]
    """The repositories it may write to, as the settings spell them: what it may see and act on, and nothing else."""
    asked_at: datetime
    """When GitHub said so."""

    @property
    def actor(self) -> str:
        """Whom the ledger says did what is done by it: as for comments of the same account."""
        return f"github:{self.login}"

    def reaches(self, space: str) -> bool:
        """Whether it may write to a repository."""
        return space.casefold() in {name.casefold() for name in self.spaces}

    def is_due(self, at: datetime) -> bool:
        """Whether GitHub is to be asked anew."""
        return self.asked_at + ASKED_EVERY <= at

    def is_too_old(self, at: datetime) -> bool:
        """Whether nothing of it counts before GitHub was asked anew."""
        return self.asked_at + ASKED_AT_LEAST <= at


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """A browser that is signed in, without its cookie's secret: with a token, with an account, or as the owner of the home."""

    token: AccessToken | None
    account: Account | None = None
    begun_with: str = ""
    """The hash of the owner's token, of a session of the owner's: it counts as long as that token does."""
    actor: str
    created_at: datetime
    expires_at: datetime
    seen_at: datetime

    @property
    def is_owners(self) -> bool:
        """Whether it is of the owner of the home, who needs no token of the table."""
        return self.token is None and self.account is None

    @property
    def right(self) -> AccessRight:
        """What may be done in it at most."""
        if self.account is not None:
            return AccessRight.READ
        return self.token.right if self.token is not None else AccessRight.ADMIN

    def reaches(self, space: str) -> bool:
        """Whether it is for a repository, or with an empty name for everything."""
        if self.account is not None:
            return self.account.reaches(space)
        return self.token is None or self.token.reaches(space)

    def is_use_due(self, at: datetime) -> bool:
        """Whether a use now is to be written down."""
        return _is_due(self.seen_at, at)


def _is_due(noted_at: datetime | None, at: datetime) -> bool:
    return noted_at is None or noted_at + USE_NOTED_EVERY <= at
