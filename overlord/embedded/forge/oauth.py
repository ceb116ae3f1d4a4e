"""What the embedded forge knows of people who sign in somewhere by way of it: an App's client, who sits before the browser, codes."""

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta

CODE_LASTS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppClient:
    """The OAuth client of an App."""

    id: str
    secret: str = field(repr=False)
    callback: str
    """The one address that people are sent back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What a person's yes is worth, once."""

    login: str
    challenge: str
    """The hash of what must be shown with it; empty where nothing was asked for."""
    until: datetime

    def fits(self, verifier: str) -> bool:
        """Whether what is shown is what was announced."""
        hashed = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        return not self.challenge or hashed == self.challenge


@dataclass(slots=True, kw_only=True)
class OAuth:
    """Nobody is asked here: a test says beforehand who is there and says yes."""

    client: AppClient | None = None
    person: str = ""
    """Who sits before the browser and says yes; empty for somebody who says no."""
    codes: dict[str, Code] = field(default_factory=dict)
