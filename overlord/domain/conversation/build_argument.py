"""The arguments of verbs that have an issue opened: a repository that may be left out, and a requirement in quotes."""

from dataclasses import dataclass

from overlord.domain.conversation.argument import Typed, WordsArgument, after, bare, word
from overlord.domain.text.reference import repository_in

_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueSpaceArgument:
    """A repository as owner/repo, or its address; where it is left out, what follows is read."""

    noun: str = "the repository"
    help: str = "The repository, as owner/repo; it may be left out where Overlord manages one alone."

    def read(self, words: str, _typed: Typed) -> tuple[str | None, str]:
        """None where none is named. What begins with a quote is the requirement."""
        first = word(words, 0)
        if first[:1] in _QUOTES or "/" not in first:
            return None, words
        name = repository_in(bare(first))
        return (name, after(words, 1)) if name is not None else (None, words)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementArgument(WordsArgument):
    """What is to be there, in quotes or without."""

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        said = _without_quotes(words.strip())
        if not said:
            raise typed.misread(self.missing)
        return said, ""


def _without_quotes(text: str) -> str:
    """Words without the quotes around all of them."""
    first, last = text[:1], _QUOTES.get(text[:1], "")
    if last and len(text) > 1 and text[-1] == last and not {first, last} & set(text[1:-1]):
        return text[1:-1].strip()
    return text
