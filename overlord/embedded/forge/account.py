"""Who may sign in to the embedded forge: people and agents with tokens, and GitHub Apps whose tokens expire."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt

from overlord.embedded.forge.api.limit import RateLimit
from overlord.embedded.forge.api.problem import Problem, missing
from overlord.embedded.forge.oauth import OAuth
from overlord.embedded.forge.record import App, Association, Grant, Membership, Repository, Role, User, covers
from overlord.embedded.forge.records import RecordStore

GRANT_LIFETIME_S = 3600
JWT_LIFETIME_S = 600
GRANTED: Mapping[str, str] = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
    "checks": "read",
    "actions": "read",
}
"""What an app has unless it is said otherwise."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class Accounts:
    """Users, apps and the tokens they sign in with."""

    def __init__(self, records: RecordStore, clock: Callable[[], datetime]) -> None:
        self.records = records
        self._clock = clock
        self.grant_lifetime_s: float = GRANT_LIFETIME_S
        """How long an app's next tokens live."""
        self.limit = RateLimit()
        self.oauth = OAuth()
        """How people sign in elsewhere by way of this forge."""

    def now(self) -> datetime:
        """GitHub's times have whole seconds."""
        return self._clock().replace(microsecond=0)

    def add_user(
        self, login: str, token: str | None = None, association: Association = "NONE", *, bot: bool = False
    ) -> User:
        """Make or change an account; without a token it gets one."""
        known = self.records.get(User, login)
        user = User(
            id=known.id if known else self.records.next_id(),
            login=login,
            token=token or (known.token if known else "") or f"ghp_{secrets.token_hex(18)}",
            association=association,
            kind="Bot" if bot else "User",
        )
        return self.records.put(user)

    def user(self, login: str) -> User:
        """An account; a login nobody has made yet is a passer-by without rights."""
        return self.records.get(User, login) or self.add_user(login)

    def join(self, repository: str, login: str, role: Role) -> None:
        """What an account may in one repository, whatever it may elsewhere."""
        self.user(login)
        known = self.records.get(Membership, f"{repository}/{login}")
        number = known.id if known else self.records.next_id()
        self.records.put(Membership(id=number, repository=repository, login=login, role=role))

    def role(self, repository: Repository, user: User) -> Role:
        """What an account may in a repository; a public one may be read by everybody."""
        known = self.records.get(Membership, f"{repository.name}/{user.login}")
        if known is not None:
            return known.role
        roles: Mapping[Association, Role] = {"OWNER": "admin", "MEMBER": "write", "COLLABORATOR": "write"}
        return roles.get(user.association, "none" if repository.private else "read")

    def user_with(self, token: str) -> User | None:
        """Whose token this is, and what it is good for."""
        for user in self.records.all(User):
            if _same(user.token, token):
                return user
        for grant in self.records.all(Grant):
            if _same(grant.token, token) and self._clock() < grant.expires_at:
                return self._granted(grant)
        return None

    def _granted(self, grant: Grant) -> User | None:
        """Who an app's token makes of who presents it; nobody once its installation is gone."""
        app = self.app(grant.app_id)
        if not app.is_installed or app.installation_id != grant.installation_id:
            return None
        return replace(
            self.user(grant.login),
            only=grant.repositories,
            permissions=grant.permissions,
            suspended=app.suspended_at is not None,
        )

    def add_app(
        self,
        slug: str,
        public_key: str,
        repositories: Sequence[str],
        permissions: Mapping[str, str] = GRANTED,
    ) -> App:
        """Register a GitHub App and install it on these repositories; `public_key` (PEM) checks its JWTs."""
        app = App(
            id=self.records.next_id(),
            slug=slug,
            public_key=public_key,
            repositories=tuple(repositories),
            permissions=dict(permissions),
        )
        self.add_user(app.bot, association="COLLABORATOR", bot=True)
        return self.records.put(app)

    def app(self, app_id: int) -> App:
        found = self.records.get(App, str(app_id))
        if found is None:
            raise missing()
        return found

    def permit_app(self, app_id: int, **permissions: str) -> None:
        """The installation is granted exactly these permissions from now on; tokens keep what they were made with."""
        self.records.put(replace(self.app(app_id), permissions=permissions))

    def suspend_app(self, app_id: int, *, suspended: bool = True) -> None:
        self.records.put(replace(self.app(app_id), suspended_at=self.now() if suspended else None))

    def uninstall_app(self, app_id: int) -> None:
        """Remove the installation; its tokens are worth nothing from now on."""
        self.records.put(replace(self.app(app_id), is_installed=False))

    def install_app(self, app_id: int) -> None:
        """Install it again on its repositories; it is another installation."""
        app = self.app(app_id)
        again = replace(app, is_installed=True, installation=app.installation + 1, suspended_at=None)
        self.records.put(again)

    def app_with(self, token: str) -> App:
        """The app that signed this JWT; raises Problem as GitHub refuses a bad one."""
        try:
            claimed = jwt.decode(token, options={"verify_signature": False})
            app = self.records.get(App, str(claimed.get("iss")))
            if app is None:
                raise Problem(404, "Integration not found")
            claims = jwt.decode(
                token,
                app.public_key,
                algorithms=["RS256"],
                issuer=str(app.id),
                options={"verify_exp": False, "verify_iat": False, "require": ["exp", "iat"]},
            )
        except jwt.PyJWTError:
            raise Problem(401, "A JSON web token could not be decoded") from None
        self._check_times(claims["iat"], claims["exp"])
        return app

    def _check_times(self, issued_at: int, expires_at: int) -> None:
        now = self._clock().timestamp()
        if issued_at > now:
            text = "must be an Integer representing the time that the assertion was issued"
            raise Problem(401, f"'Issued at' claim ('iat') {text}")
        if expires_at <= now:
            text = "must be a numeric value representing the future time at which the assertion expires"
            raise Problem(401, f"'Expiration time' claim ('exp') {text}")
        if expires_at > now + JWT_LIFETIME_S:
            raise Problem(401, "'Expiration time' claim ('exp') is too far in the future")

    def grant(
        self, app: App, names: Sequence[str] | None = None, permissions: Mapping[str, str] | None = None
    ) -> Grant:
        """A new token of an app, for all of its repositories or those named (without owner), with all of its
        permissions or these. As everywhere at the forge, a name's case does not matter."""
        asked = None if names is None else {name.casefold() for name in names}
        wanted = [
            name for name in app.repositories if asked is None or name.split("/")[1].casefold() in asked
        ]
        if asked is not None and len(wanted) != len(asked):
            raise Problem(
                422,
                "There is at least one repository that does not exist or is not accessible to the parent"
                " installation.",
            )
        if permissions is not None and not covers(app.permissions, permissions):
            raise Problem(422, "The permissions requested are not granted to this installation.")
        grant = Grant(
            id=self.records.next_id(),
            token=f"ghs_{secrets.token_hex(18)}",
            login=app.bot,
            repositories=tuple(wanted),
            expires_at=self.now() + timedelta(seconds=self.grant_lifetime_s),
            app_id=app.id,
            installation_id=app.installation_id,
            permissions={"metadata": "read", **(app.permissions if permissions is None else permissions)},
        )
        return self.records.put(grant)


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
