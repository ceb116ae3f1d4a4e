"""Who looks at the page, and what they may: found by the cookie of a session, which a token began."""

import hashlib
import hmac
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
        """What every form of theirs holds, so that nobody else's page can send one."""
        return hmac.new(self.secret.encode(), b"form", hashlib.sha256).hexdigest()

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

    def may(self, needed: Right) -> bool:
        """Whether their right is enough, wherever it is."""
        return self.right >= needed

    @property
    def acts(self) -> bool:
        """Whether they may have work done and answered."""
        return self.may(Right.WRITER)

    @property
    def decides(self) -> bool:
        """Whether they may pause what goes on."""
        return self.may(Right.APPROVER)

    @property
    def limits(self) -> str:
        """What they may, in a sentence."""
        return f"Your token may {_MAY[self.right]}."

    def check_may(self, needed: Right, space: str) -> None:
        """Raises NotAllowed for who may not do something there."""
        check_right(needed, self.right, f"this token may {_MAY[self.right]}; that takes more")
        self.check_sees([space])


_MAY = {
    Right.ANYONE: "look, and nothing else",
    Right.WRITER: "have work done and answered",
    Right.APPROVER: "act and decide, and not administer",
    Right.OPERATOR: "do everything",
}
