"""Who Overlord is at GitHub: a fine-grained token, or an App. Tokens live here and in requests, and nowhere else."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import jwt
from gidgethub.apps import get_jwt
from pydantic import BaseModel, ValidationError

from overlord.adapters.github_client import GitHubClient, SignIn
from overlord.adapters.github_operation import OPERATIONS
from overlord.errors import ForgeUnavailable, SettingsError
from overlord.ports import RepositoryName

JWT_LIFETIME_S = 540
USED_UP = 0.8
"""The part of a token's life after which it is replaced before it is used again."""


class Credentials(Protocol):
    """Gives the token for a repository. Raises what a call to GitHub raises."""

    async def token(self, name: RepositoryName, *, fresh: bool = False) -> str:
        """A token that is good now; a `fresh` one was made for this call, where tokens can be made."""
        ...

    def forget(self, name: RepositoryName, token: str) -> bool:
        """A token was refused; whether the next one may do better."""
        ...


class TokenCredentials:
    """A personal access token, the same for every repository."""

    def __init__(self, token: str) -> None:
        self._token = token.strip()
        if (
            not self._token
            or not self._token.isascii()
            or not self._token.isprintable()
            or " " in self._token
        ):
            raise SettingsError("GITHUB_TOKEN is empty or has characters that no token has")

    async def token(self, name: RepositoryName, *, fresh: bool = False) -> str:  # noqa: ARG002
        return self._token

    def forget(self, name: RepositoryName, token: str) -> bool:  # noqa: ARG002
        return False


class _Installation(BaseModel):
    id: int


class _AccessToken(BaseModel):
    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A token in use, and when it is to be replaced."""

    token: str = field(repr=False)
    renew_at: datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AppCredentials:
    """A GitHub App: its installation is found per repository, and each token is good for that repository alone."""

    def __init__(
        self, client: GitHubClient, *, app_id: str, private_key: str, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._client = client
        self._app_id = app_id
        self._private_key = private_key
        self._now = now
        self._held: dict[RepositoryName, _Held] = {}
        self._minting: dict[RepositoryName, asyncio.Task[_Held]] = {}
        self._sign_in()  # a key that cannot sign is found out at start

    async def token(self, name: RepositoryName, *, fresh: bool = False) -> str:
        held = self._held.get(name)
        if fresh or held is None or self._now() >= held.renew_at:
            held = await self._one_refresh(name)
        return held.token

    def forget(self, name: RepositoryName, token: str) -> bool:
        held = self._held.get(name)
        if held is not None and held.token == token:
            del self._held[name]
        return True

    async def _one_refresh(self, name: RepositoryName) -> _Held:
        """A new token; all who wait for one at the same time get the same."""
        minting = self._minting.get(name)
        if minting is None:
            minting = self._minting[name] = asyncio.create_task(self._mint(name))
            minting.add_done_callback(lambda task: self._minted(name, task))
        return await asyncio.shield(minting)

    def _minted(self, name: RepositoryName, task: asyncio.Task[_Held]) -> None:
        del self._minting[name]
        if not task.cancelled() and task.exception() is None:
            self._held[name] = task.result()

    async def _mint(self, name: RepositoryName) -> _Held:
        owner, _, repo = name.partition("/")
        asked = OPERATIONS["apps/get-repo-installation"]
        installation, _ = await self._client.ask(*asked, self._sign_in(), {"owner": owner, "repo": repo})
        asked, began = OPERATIONS["apps/create-installation-access-token"], self._now()
        try:
            variables = {"installation_id": _Installation.model_validate(installation).id}
            answer, _ = await self._client.ask(*asked, self._sign_in(), variables, {"repositories": [repo]})
            made = _AccessToken.model_validate(answer)
        except ValidationError:
            raise ForgeUnavailable(f"GitHub gave no token for {name} that we can read") from None
        return _Held(token=made.token, renew_at=began + (made.expires_at - began) * USED_UP)

    def _sign_in(self) -> SignIn:
        try:
            signed = get_jwt(app_id=self._app_id, private_key=self._private_key, expiration=JWT_LIFETIME_S)
        except (jwt.PyJWTError, ValueError, TypeError):
            raise SettingsError("GITHUB_APP_PRIVATE_KEY_FILE holds no RSA private key in PEM form") from None
        return SignIn(jwt=signed)
