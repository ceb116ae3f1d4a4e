"""The arguments of verbs about the portfolio: an initiative, as people write it."""

import re
from dataclasses import dataclass

from overlord.domain.conversation.argument import Typed, after, bare, word

_INITIATIVE = re.compile(r"i?[0-9]{1,9}|[a-z0-9-]{1,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeArgument:
    """An initiative."""

    noun: str = "the initiative"
    help: str = "The initiative, as i3, or by the name of its directory."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        named = bare(word(words, 0)).casefold()
        if not _INITIATIVE.fullmatch(named):
            raise typed.misread("Say which initiative, as in i3.")
        return named, after(words, 1)
