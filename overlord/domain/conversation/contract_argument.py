"""The arguments of looks at a contract: which one is meant, and the path it is asked about."""

from dataclasses import dataclass

from overlord.domain.conversation.argument import Typed, after, bare, word
from overlord.domain.conversation.look_argument import SpaceOptionArgument
from overlord.domain.text.reference import Target, target_in

MOST_PATH = 500
MOST_JOBS = 200
MOST_TEXT = 20_000
"""Characters of a contract that comes over HTTP, where it is a part of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryPlaceArgument(SpaceOptionArgument):
    """A repository, which may be left out. On the command line it is known by its place."""

    help: str = "A repository managed by Overlord: owner/repo, or its name alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptionArgument:
    """A job, after its own name. On the command line it is an option."""

    noun: str = "the job"
    help: str = "The contract that this job keeps: its number, or its issue."

    def read(self, words: str, typed: Typed) -> tuple[Target | None, str]:
        """None where `job` is not said."""
        if word(words, 0).casefold() != "job":
            return None, words
        found = target_in(bare(word(words, 1)))
        if found is None:
            raise typed.misread("Say which: a job by its number, or an issue with the #.", typed.usage)
        return found, after(words, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIfAnyArgument(JobOptionArgument):
    """A job, which may be left out. On the command line it is known by its place."""

    help: str = "Only this job, in detail: its number, or an issue: '#42', owner/repo#42, its address."

    def read(self, words: str, typed: Typed) -> tuple[Target | None, str]:
        """None where no word is left; `job` before it may be left out."""
        if not words.strip():
            return None, ""
        skipped = int(word(words, 0).casefold() == "job")
        found = target_in(bare(word(words, skipped)))
        if found is None:
            name = typed.name or "status"
            raise typed.misread(
                "Say which: a job by its number, or an issue with the #.", f"{name} 7", f"{name} #42", name
            )
        return found, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractTextArgument:
    """A contract as YAML. On the command line it is the file it stands in; elsewhere programs alone send it."""

    noun: str = "the contract"
    help: str = "A contract as YAML; on the command line the file it stands in."

    def read(self, words: str, _typed: Typed) -> tuple[str, str]:
        """Nobody types one in a line."""
        return "", words


@dataclass(frozen=True, slots=True, kw_only=True)
class PathArgument:
    """The path of a file in a repository."""

    noun: str = "the path"
    help: str = "The path of a file, from the repository's root."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        return self.checked(word(words, 0).strip("`'\""), typed), after(words, 1)

    def checked(self, text: str, typed: Typed) -> str:
        """A path within the repository. Raises CommandError for anything else."""
        path = text.removeprefix("./").strip("/")
        if not path.strip() or len(path) > MOST_PATH or ".." in path.split("/") or not path.isprintable():
            raise typed.misread("Say which file, by its path from the repository's root.", typed.usage)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class LastArgument:
    """How many, the last ones."""

    noun: str = "the number"
    help: str = "How many of the jobs that ended, the last ones."
    default: int = 20
    most: int = MOST_JOBS

    def read(self, words: str, typed: Typed) -> tuple[int, str]:
        skipped = int(word(words, 0).casefold() == "last")
        first = bare(word(words, skipped))
        if not first.isdecimal() and not skipped:
            return self.default, words
        if not first.isdecimal() or not 1 <= int(first[:6]) <= self.most:
            raise typed.misread(f"Say how many jobs: 1 to {self.most}.", typed.usage)
        return int(first), after(words, skipped + 1)
