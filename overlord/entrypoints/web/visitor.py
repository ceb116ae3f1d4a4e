"""Who looks at the page, and what they may: found by the cookie of a session, which a token or an account at GitHub began."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from overlord.domain.person import Person
from overlord.errors import NotFound
from overlord.verbs.right import NotAllowed, Right, check_right


class NotSeen(NotFound):
    """It is about a repository that somebody may not see. What they are told is what they are told of what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is signed in."""

    actor: str
    """As the ledger names them: `web:alice`, and with an account at GitHub `github:alice`."""
    right: Right
    spaces: tuple[str, ...] = ()
    """The repositories they may see; empty for all."""
    rights: Mapping[str, Right] = field(default_factory=dict)
    """What they may in a repository, by its name in small letters, where that is more than `right`."""
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

    def hides(self, error: Exception) -> bool:
        """Whether what an error says could tell them what there is in repositories that they may not see."""
        return bool(self.spaces) and isinstance(error, NotFound)

    def check_sees(self, spaces: Iterable[str]) -> None:
        """Raises NotSeen for what is about another repository, NotAllowed for what is about all of them."""
        for space in spaces:
            if self.sees(space):
                continue
            if not space:
                raise NotAllowed(f"{self._what} is for {', '.join(self.spaces)} alone")
            raise NotSeen(UNSEEN)

    def may(self, needed: Right, space: str | None = None) -> bool:
        """Whether their right is enough: in a repository, for everything (an empty name), or where none is said, anywhere."""
        if space is None:
            return max((self.right, *self.rights.values())) >= needed
        return self.rights.get(space.casefold(), self.right) >= needed

    @property
    def acts(self) -> bool:
        """Whether they may have work done and answered."""
        return self.may(Right.WRITER)

    def decides(self, space: str = "") -> bool:
        """Whether they may pause what goes on in a repository, or everything."""
        return self.may(Right.APPROVER, space)

    @property
    def limits(self) -> str:
        """What they may, in a sentence."""
        what = "Your account" if self.actor.startswith("github:") else "Your token"
        return f"{what} may {_MAY[max((self.right, *self.rights.values()))]}."

    def check_may(self, needed: Right, space: str) -> None:
        """Raises NotSeen, and NotAllowed for who may not do something there."""
        if space:
            self.check_sees([space])
        held = self.rights.get(space.casefold(), self.right)
        check_right(needed, held, f"{self._what} may {_MAY[held]}; that takes more")
        self.check_sees([space])

    @property
    def _what(self) -> str:
        return f"the account {self.name}" if self.actor.startswith("github:") else "this token"


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


UNSEEN = "there is nothing of that name, or it is not yours to see"
_MAY = {
    Right.ANYONE: "look, and nothing else",
    Right.WRITER: "have work done and answered",
    Right.APPROVER: "act and decide, and not administer",
    Right.OPERATOR: "do everything",
}
