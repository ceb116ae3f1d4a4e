"""Who may sign in to the embedded forge: people and agents with tokens, and GitHub Apps whose tokens expire."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt

from overlord.embedded.forge.problem import Problem, missing
from overlord.embedded.forge.record import App, Association, Grant, User
from overlord.embedded.forge.shelf import Shelf

GRANT_LIFETIME_S = 3600


def utc_now() -> datetime:
    return datetime.now(UTC)


class Accounts:
    """Users, apps and the tokens they sign in with."""

    def __init__(self, shelf: Shelf, clock: Callable[[], datetime]) -> None:
        self.shelf = shelf
        self._clock = clock
        self.grant_lifetime_s: float = GRANT_LIFETIME_S
        """How long an app's next tokens live."""

    def now(self) -> datetime:
        """GitHub's times have whole seconds."""
        return self._clock().replace(microsecond=0)

    def add_user(
        self, login: str, token: str | None = None, association: Association = "NONE", *, bot: bool = False
    ) -> User:
        """Make or change an account; without a token it gets one."""
        known = self.shelf.get(User, login)
        user = User(
            id=known.id if known else self.shelf.next_id(),
            login=login,
            token=token or (known.token if known else "") or f"ghp_{secrets.token_hex(18)}",
            association=association,
            kind="Bot" if bot else "User",
        )
        return self.shelf.put(user)

    def user(self, login: str) -> User:
        """An account; a login nobody has made yet is a passer-by without rights."""
        return self.shelf.get(User, login) or self.add_user(login)

    def user_with(self, token: str) -> User | None:
        """Whose token this is, and what it is good for."""
        for user in self.shelf.all(User):
            if _same(user.token, token):
                return user
        for grant in self.shelf.all(Grant):
            if _same(grant.token, token) and self._clock() < grant.expires_at:
                return replace(self.user(grant.login), only=grant.repositories)
        return None

    def add_app(self, slug: str, public_key: str, repositories: Sequence[str]) -> App:
        """Register a GitHub App with write access to these repositories; `public_key` (PEM) checks its JWTs."""
        app = App(id=self.shelf.next_id(), slug=slug, public_key=public_key, repositories=tuple(repositories))
        self.add_user(app.bot, association="COLLABORATOR", bot=True)
        return self.shelf.put(app)

    def app_with(self, token: str) -> App:
        """The app that signed this JWT; raises Problem as GitHub refuses a bad one."""
        try:
            claimed = jwt.decode(token, options={"verify_signature": False})
            app = self.shelf.get(App, str(claimed.get("iss")))
            if app is None:
                raise Problem(404, "Integration not found")
            claims = jwt.decode(token, app.public_key, algorithms=["RS256"], issuer=str(app.id))
        except jwt.PyJWTError:
            raise Problem(401, "A JSON web token could not be decoded") from None
        if claims["exp"] - claims["iat"] > 600:
            raise Problem(401, "'Expiration time' claim ('exp') is too far in the future")
        return app

    def grant(self, app: App, installation_id: int, names: Sequence[str] | None) -> Grant:
        """A new token for an installation, for all of its repositories or those named (without owner)."""
        if installation_id != app.installation_id:
            raise missing()
        wanted = [name for name in app.repositories if names is None or name.split("/")[1] in names]
        if names is not None and len(wanted) != len(set(names)):
            raise Problem(422, "There is at least one repository that does not exist or is not accessible")
        grant = Grant(
            id=self.shelf.next_id(),
            token=f"ghs_{secrets.token_hex(18)}",
            login=app.bot,
            repositories=tuple(wanted),
            expires_at=self.now() + timedelta(seconds=self.grant_lifetime_s),
        )
        return self.shelf.put(grant)


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
