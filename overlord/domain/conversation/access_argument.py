"""The kinds of arguments that are about access tokens."""

import re
from dataclasses import dataclass

from overlord.domain.access import AccessRight, is_token_name
from overlord.domain.conversation.argument import Typed, after, bare, word
from overlord.domain.text.reference import repository_in

MOST_DAYS = 3660
"""Ten years: what lasts longer may as well last until it is revoked."""
_DAYS = re.compile(r"[0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenNameArgument:
    """What a token is called."""

    noun: str = "the token's name"
    help: str = "The token's name: 1 to 40 of a-z, 0-9 and dashes."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        name = word(words, 0)
        if not is_token_name(name):
            raise typed.misread("Say the token's name: 1 to 40 of a-z, 0-9 and dashes.")
        return name, after(words, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRightArgument:
    """What its bearer may; nothing but look, where that is not said."""

    noun: str = "the right"
    help: str = "What its bearer may: read looks, act decides as an approver does, admin does everything."
    default: AccessRight = AccessRight.READ

    def read(self, words: str, _typed: Typed) -> tuple[AccessRight, str]:
        first = word(words, 0).casefold()
        if first in set(AccessRight):
            return AccessRight(first), after(words, 1)
        return self.default, words


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesArgument:
    """Repositories; none for all of them."""

    noun: str = "the repositories"
    help: str = "Only for this repository, as owner/repo; may be said again for others. All, if absent."

    def read(self, words: str, _typed: Typed) -> tuple[tuple[str, ...], str]:
        found: list[str] = []
        while "/" in (first := word(words, 0)) and (name := repository_in(bare(first))):
            found.append(name)
            words = after(words, 1)
        return tuple(found), words


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysArgument:
    """A number of days; none for no end."""

    noun: str = "the days"
    help: str = "How many days it counts; until it is revoked, if absent."
    most: int = MOST_DAYS

    def read(self, words: str, typed: Typed) -> tuple[int | None, str]:
        first = word(words, 0)
        if not first:
            return None, ""
        days = int(first) if _DAYS.fullmatch(first) else 0
        if not 1 <= days <= self.most:
            raise typed.misread("Say how many days.")
        return days, after(words, 1)
