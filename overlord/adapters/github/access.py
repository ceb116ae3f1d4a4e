"""How Overlord stands at GitHub: as whom it is signed in, what it may do, which labels there are, how much it may ask.

Only people ask this, through `overlord doctor`; the daemon finds out by working.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel

from overlord.adapters.github.client import ForgeUnauthorized
from overlord.adapters.github.conversation import PAGE
from overlord.adapters.github.credentials import AppCredentials
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.identifiers import RepositoryName
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable

ALREADY = "Validation Failed for 'name'"
"""What a label is refused with that somebody made meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """As whom requests are made."""

    shown: str
    key: str
    """The same for all that share one rate limit."""
    permissions: Mapping[str, str] | None = None
    """What an App was granted; GitHub does not tell it of a token."""
    settings_url: str = ""
    """Where that can be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How many requests are left of an hour's."""

    limit: int
    remaining: int
    resets_at: datetime


class _User(BaseModel):
    login: str


class _LabelPayload(BaseModel):
    name: str


class _Core(BaseModel):
    limit: int
    remaining: int
    reset: datetime


class _Resources(BaseModel):
    core: _Core


class _RateLimit(BaseModel):
    resources: _Resources


class GitHubPermissions(GitHubForge):
    """The forge, and what it says about ourselves."""

    async def identity(self, name: RepositoryName) -> Identity:
        """As whom we are signed in for a repository."""
        if isinstance(self._credentials, AppCredentials):
            found = await self._credentials.installation(name)
            return Identity(
                shown=f"GitHub App {found.app}, installed on {found.account} ({found.id})",
                key=f"{found.app} on {found.account}",
                permissions=found.permissions,
                settings_url=found.url,
            )
        try:
            login = (await self._read(_User, "users/get-authenticated", name)).login
        except ForgeUnauthorized:
            raise
        except ForgeRefused:  # as the token of an Actions run, which is good and nobody's
            return Identity(shown="a token that belongs to no account", key="")
        return Identity(shown=login, key=login)

    def _note_silence(self, error: ForgeUnavailable, name: RepositoryName, again_in_s: float) -> None:
        """Whoever looks here is shown the error as a finding, and no log."""

    async def allowance(self, name: RepositoryName) -> Allowance | None:
        """What is left of the rate limit; None where there is none, as on most Enterprise Servers."""
        try:
            core = (await self._read(_RateLimit, "rate-limit/get", name)).resources.core
        except ForgeMissing:
            return None
        return Allowance(limit=core.limit, remaining=core.remaining, resets_at=core.reset)

    async def labels(self, name: RepositoryName) -> Sequence[str]:
        """The labels of a repository."""
        found = self._pages(_LabelPayload, "issues/list-labels-for-repo", name, per_page=PAGE)
        return [label.name async for label in found]

    async def create_label(self, name: RepositoryName, label: str, *, color: str, description: str) -> None:
        """Make a label; one that is there already is no error. The colour is six hexadecimal digits."""
        data = {"name": label, "color": color, "description": description}
        try:
            await self._call("issues/create-label", name, data)
        except ForgeRefused as refusal:
            if ALREADY not in str(refusal):
                raise
