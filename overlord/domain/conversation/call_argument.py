"""The kind of argument that names a call of a discipline."""

from dataclasses import dataclass

from overlord.domain.conversation.argument import Typed, after, bare, word
from overlord.domain.disciplines.call import read_ref


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArgument:
    """A call, by its handle."""

    noun: str = "the call"
    help: str = "A call's handle: c7."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """`show` before it may be left out."""
        skipped = int(word(words, 0).casefold() == "show")
        handle = bare(word(words, skipped)).casefold()
        if read_ref(handle) is None:
            raise typed.misread("Say which call, by its handle.", typed.usage)
        return handle, after(words, skipped + 1)
