"""Who looks at the page, and what they may: found by the cookie of a session, which a token began."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from overlord.domain.person import Person
from overlord.verbs.right import NotAllowed, Right, check_right


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is signed in."""

    actor: str
    """As the ledger names them: `web:alice`."""
    right: Right
    spaces: tuple[str, ...] = ()
    """The repositories they may see; empty for all."""
    secret: str
    """That of their session's cookie."""

    @property
    def name(self) -> str:
        return self.actor.partition(":")[2]

    @property
    def csrf(self) -> str:
        """What every form of theirs holds, so that nobody else's page can send one: written another way each time, so that the length of
        a compressed page tells nothing of it."""
        pad = secrets.token_bytes(len(self._form_key))
        return (pad + _mixed(pad, self._form_key)).hex()

    @property
    def _form_key(self) -> bytes:
        return hmac.new(self.secret.encode(), b"form", hashlib.sha256).digest()

    def is_csrf(self, sent: str) -> bool:
        """Whether it is what a form of theirs holds."""
        key = self._form_key
        try:
            given = bytes.fromhex(sent)
        except ValueError:
            return False
        return len(given) == 2 * len(key) and hmac.compare_digest(
            _mixed(given[: len(key)], given[len(key) :]), key
        )

    def signed(self, text: str) -> str:
        """What shows that a text in an address was put there by us, for them."""
        return hmac.new(
            self.secret.encode(), f"said {text}".encode(errors="replace"), hashlib.sha256
        ).hexdigest()[:32]

    @property
    def person(self) -> Person:
        return Person.of(self.actor)

    def sees(self, space: str) -> bool:
        """Whether a repository is among those they may see; nothing stands for all of them."""
        return not self.spaces or space.casefold() in {name.casefold() for name in self.spaces}

    def check_sees(self, spaces: Iterable[str]) -> None:
        """Raises NotAllowed for what is about another repository."""
        if not all(map(self.sees, spaces)):
            raise NotAllowed(f"this token is for {', '.join(self.spaces)} alone")

    def check_may(self, needed: Right, space: str) -> None:
        """Raises NotAllowed for who may not do something there."""
        check_right(needed, self.right, f"this token may {_MAY[self.right]}; that takes more")
        self.check_sees([space])


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


_MAY = {
    Right.ANYONE: "look, and nothing else",
    Right.WRITER: "have work done and answered",
    Right.APPROVER: "act and decide, and not administer",
    Right.OPERATOR: "do everything",
}
