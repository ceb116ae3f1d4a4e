"""Who Overlord is at GitHub: a fine-grained token, or an App. Tokens live here and in requests, and nowhere else.

An App's token is good for one repository, and for what the installation was granted when the token was made. The one for the
API is held until shortly before it expires, or until it may not do something: the grant may be newer. Each git operation has a
token made for it, which can do nothing else. What relates issues of two repositories of one owner has a token for both, which
can do nothing but read and write issues.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from overlord.adapters.github.client import GitHubClient, SignIn, utc_now
from overlord.adapters.github.operation import OPERATIONS
from overlord.adapters.github.permission import GIT, GIT_WHERE_GRANTED, ISSUES, lacking, shown
from overlord.domain.identifiers import RepositoryName
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, SettingsError

JWT_LIFETIME_S = 540
CLOCK_SKEW_S = 60
"""An App's own signature is dated back by so much, and ends as much before GitHub's limit of ten minutes."""
RENEWED_EARLY = timedelta(minutes=5)
USED_UP = 0.8
"""A token is replaced that long before it expires, or after this part of its life when it lives shortly."""
LOOKED_UP_FOR = timedelta(hours=1)
"""How long an installation and what it was granted is believed."""
UNKNOWN_APP = "Integration not found"
Reach = tuple[RepositoryName, ...]
"""The repositories that a token is good for; the first is whom it is for."""


class Credentials(Protocol):
    """Gives the token for a repository. Raises what a call to GitHub raises."""

    async def token(
        self, name: RepositoryName, *, fresh: bool = False, beside: RepositoryName | None = None
    ) -> str:
        """A token that is good now; a `fresh` one was made for this call and for git, where tokens can be made. `beside`:
        another repository whose issues are to be reached too; one of another owner is reached as anybody may."""
        ...

    def forget(self, name: RepositoryName, token: str) -> bool:
        """A token was refused, or may not do what it was used for; whether the next one may do better."""
        ...

    def renew(self, name: RepositoryName) -> None:
        """Somebody may have changed what was granted: from now on nothing is used that was made or looked up before."""
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

    async def token(
        self,
        name: RepositoryName,  # noqa: ARG002
        *,
        fresh: bool = False,  # noqa: ARG002
        beside: RepositoryName | None = None,  # noqa: ARG002
    ) -> str:
        return self._token

    def forget(self, name: RepositoryName, token: str) -> bool:  # noqa: ARG002
        return False

    def renew(self, name: RepositoryName) -> None:
        """A token is what it is until its owner changes it, and then the same one may do more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where an App was installed, and what it was granted there."""

    id: int
    app: str
    """The App's name in addresses."""
    account: str
    permissions: Mapping[str, str]
    url: str
    """Where people see and change it."""


class _Account(BaseModel):
    login: str


class _Installation(BaseModel):
    id: int
    app_slug: str = ""
    account: _Account | None = None
    permissions: dict[str, str] = {}
    html_url: str = ""
    suspended_at: datetime | None = None


class _AccessToken(BaseModel):
    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedToken:
    """A token in use, and when it is to be replaced."""

    token: str = field(repr=False)
    renew_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedInstallation:
    """An installation, and when it is to be looked up again."""

    installation: Installation
    look_again_at: datetime


class AppCredentials:
    """A GitHub App: its installation is found per repository, and each token is good for that repository alone."""

    def __init__(
        self,
        client: GitHubClient,
        *,
        app_id: str,
        private_key: str,
        retry_wait_s: float = 1.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._retry_wait_s = retry_wait_s
        self._app_id = app_id
        self._private_key = private_key
        self._read_key: Any = None
        self._now = now
        self._known: dict[RepositoryName, _CachedInstallation] = {}
        self._held: dict[Reach, _CachedToken] = {}
        self._minting: dict[Reach, asyncio.Task[_CachedToken]] = {}
        self._sign_in()  # a key that cannot sign is found out at start

    async def token(
        self, name: RepositoryName, *, fresh: bool = False, beside: RepositoryName | None = None
    ) -> str:
        if fresh:
            return (await self._mint((name,), for_git=True)).token
        reach = (name, beside) if beside is not None and _owner(beside) == _owner(name) else (name,)
        cached = self._held.get(reach)
        if cached is None or self._now() >= cached.renew_at:
            cached = await self._one_refresh(reach)
        return cached.token

    def forget(self, name: RepositoryName, token: str) -> bool:
        self._held = {
            reach: cached for reach, cached in self._held.items() if reach[0] != name or cached.token != token
        }
        return True

    def renew(self, name: RepositoryName) -> None:
        self._held = {reach: cached for reach, cached in self._held.items() if name not in reach}
        self._known.pop(name, None)

    async def installation(self, name: RepositoryName) -> Installation:
        """Where the App is installed for a repository, as GitHub says now. Raises ForgeRefused when it is nowhere, or
        suspended."""
        owner, _, repo = name.partition("/")
        try:
            answer = await self._ask("apps/get-repo-installation", {"owner": owner, "repo": repo})
        except ForgeMissing as error:
            raise self._not_installed(name, error) from None
        try:
            found = _Installation.model_validate(answer)
        except ValidationError:
            raise ForgeUnavailable(f"GitHub describes no installation for {name} that we can read") from None
        if found.suspended_at is not None:
            raise ForgeRefused(
                f"the installation of GitHub App {found.app_slug} for {name} is suspended; an owner can"
                f" unsuspend it at {found.html_url}"
            )
        installation = Installation(
            id=found.id,
            app=found.app_slug or self._app_id,
            account=found.account.login if found.account else owner,
            permissions=found.permissions,
            url=found.html_url,
        )
        self._known[name] = _CachedInstallation(
            installation=installation, look_again_at=self._now() + LOOKED_UP_FOR
        )
        return installation

    def _not_installed(self, name: RepositoryName, error: ForgeMissing) -> ForgeRefused:
        if UNKNOWN_APP in str(error):
            return ForgeRefused(f"GitHub knows no App with the id {self._app_id}; check GITHUB_APP_ID")
        return ForgeRefused(
            f"GitHub App {self._app_id} is not installed on {name}, or there is no such repository; install it"
            " from the App's page, Install App"
        )

    async def _one_refresh(self, reach: Reach) -> _CachedToken:
        """A new token; all who wait for one at the same time get the same."""
        minting = self._minting.get(reach)
        if minting is None:
            minting = self._minting[reach] = asyncio.create_task(self._mint(reach, for_git=False))
            minting.add_done_callback(lambda task: self._minted(reach, task))
        return await asyncio.shield(minting)

    def _minted(self, reach: Reach, task: asyncio.Task[_CachedToken]) -> None:
        del self._minting[reach]
        if not task.cancelled() and task.exception() is None:
            self._held[reach] = task.result()

    async def _mint(self, reach: Reach, *, for_git: bool) -> _CachedToken:
        """A token; where what we know of the installation does not do, it is looked up again once."""
        name = reach[0]
        known = self._known.get(name)
        if known is not None and self._now() < known.look_again_at:
            try:
                return await self._granted(reach, known.installation, for_git=for_git)
            except ForgeRefused:
                self._known.pop(name, None)
        return await self._granted(reach, await self.installation(name), for_git=for_git)

    async def _granted(self, reach: Reach, installation: Installation, *, for_git: bool) -> _CachedToken:
        """A token for one repository, or for the issues of two; one for git can do nothing else."""
        name = reach[0]
        data: dict[str, object] = {"repositories": [each.partition("/")[2] for each in reach]}
        if for_git:
            data["permissions"] = _git_permissions(name, installation)
        elif len(reach) > 1:
            data["permissions"] = ISSUES
        asked, began = {"installation_id": installation.id}, self._now()
        answer = await self._ask("apps/create-installation-access-token", asked, data)
        try:
            made = _AccessToken.model_validate(answer)
            life = made.expires_at - began
        except (ValidationError, TypeError):
            raise ForgeUnavailable(f"GitHub gave no token for {name} that we can read") from None
        return _CachedToken(token=made.token, renew_at=began + max(life - RENEWED_EARLY, life * USED_UP))

    async def _ask(self, operation: str, variables: Mapping[str, Any], data: Any = b"") -> Any:
        """What is answered to the App itself; a refusal counts when it is said twice."""
        try:
            answer, _ = await self._client.ask(*OPERATIONS[operation], self._sign_in(), variables, data)
        except ForgeRefused:
            await asyncio.sleep(self._retry_wait_s)
            answer, _ = await self._client.ask(*OPERATIONS[operation], self._sign_in(), variables, data)
        return answer

    def _sign_in(self) -> SignIn:
        import jwt  # with its cryptography a tenth of the daemon's start, for Apps alone

        now = int(self._now().timestamp())
        claims = {"iat": now - CLOCK_SKEW_S, "exp": now + JWT_LIFETIME_S, "iss": self._app_id}
        try:
            if self._read_key is None:  # checking a key takes longer than all the rest of a request
                self._read_key = jwt.get_algorithm_by_name("RS256").prepare_key(self._private_key)
            signed = jwt.encode(claims, self._read_key, algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError):
            raise SettingsError("GITHUB_APP_PRIVATE_KEY_FILE holds no RSA private key in PEM form") from None
        return SignIn(jwt=signed)


def _owner(name: RepositoryName) -> str:
    return name.partition("/")[0].casefold()


def _git_permissions(name: RepositoryName, installation: Installation) -> dict[str, str]:
    """What a token for git asks for. Raises ForgeRefused when that was not granted."""
    if missing := lacking(installation.permissions, GIT):
        raise ForgeRefused(
            f"the installation of GitHub App {installation.app} for {name} lacks {shown(missing)};"
            f" see `overlord doctor` and {installation.url}"
        )
    granted = installation.permissions
    besides = {
        name: level for name, level in GIT_WHERE_GRANTED.items() if not lacking(granted, {name: level})
    }
    return {**GIT, **besides}
