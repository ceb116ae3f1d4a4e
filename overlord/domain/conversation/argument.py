"""The arguments that verbs take: how each kind is read from words, in a chat or a comment, and what to type where it cannot be.

A verb's arguments are one frozen record. Each field says what kind it is: `job: Annotated[Target | None, JobArgument()]`. The words
are read field by field, in the record's order. A comment stands at an issue, so a job or an issue is not typed there: it is None.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from typing import Protocol, TypeVar, get_type_hints

from minion.protocol import Scope, ScopeError
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.text.reference import (
    InitiativeRef,
    IssueRef,
    Target,
    TaskRef,
    draft_in,
    initiative_in,
    issue_in,
    number_in,
    proposal_in,
    repository_in,
    target_in,
    task_in,
)

MOST_CHARS = 4000
"""Of a whole command."""
MOST_PATTERNS = 20
_SKILL = re.compile(r"[a-z0-9-]{1,100}")
_ALL = frozenset({"everything", "all", "*"})


class CommandError(ValueError):
    """A command is not understood. The message is a sentence for whoever gave it, `examples` what to type instead; neither
    holds a word of theirs."""

    def __init__(self, message: str, *examples: str) -> None:
        super().__init__(message)
        self.examples = examples


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The command whose arguments are read: for what is said of words that are not understood."""

    name: str
    usage: str
    """As it is typed, with an example: `stop #42`."""
    is_comment: bool = False
    """Whether it was typed in a comment, which stands at an issue or a pull request."""

    def misread(self, why: str, *examples: str) -> CommandError:
        """With the usage where there is no better example."""
        return CommandError(why, *(examples or (self.usage,)))


class Argument(Protocol):
    """One kind of argument."""

    @property
    def noun(self) -> str:
        """What comes before words that are too many."""
        ...

    @property
    def help(self) -> str:
        """What it is, for the command line."""
        ...

    @abstractmethod
    def read(self, words: str, typed: Typed) -> tuple[object, str]:
        """The value, and the words that follow it. Raises CommandError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArgument:
    """A job: by its number, or by its issue."""

    noun: str = "the job or issue"
    help: str = "A job's number, or an issue: '#42', owner/repo#42, its address."

    def read(self, words: str, typed: Typed) -> tuple[Target | None, str]:
        """None in a comment: the job is that of its issue or pull request."""
        if typed.is_comment:
            return None, words
        skipped = int(word(words, 0).casefold() == "job")
        found = target_in(bare(word(words, skipped)))
        if found is None:
            form = typed.usage
            examples = (form.replace("#42", "7"), form, form.replace("#42", "owner/repo#42"))
            raise typed.misread("Say which: a job by its number, or an issue with the #.", *examples)
        return found, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueArgument:
    """An issue."""

    noun: str = "the issue"
    help: str = "An issue: '#42', owner/repo#42, or its address."

    def read(self, words: str, typed: Typed) -> tuple[IssueRef | None, str]:
        """None in a comment: it is the one it stands at."""
        if typed.is_comment:
            return None, words
        skipped = int(word(words, 0).casefold() == "on")
        found = issue_in(bare(word(words, skipped)))
        if found is None:
            why = (
                "Say which issue: with the #, with its repository where there are several, or by its address."
            )
            raise typed.misread(why, "work on #42", "work on owner/repo#42")
        return found, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceArgument:
    """A repository, or everything."""

    noun: str = "the repository"
    help: str = "A repository: owner/repo, or its name alone."

    def read(self, words: str, typed: Typed) -> tuple[str | None, str]:
        """None for everything."""
        first = word(words, 0)
        if not first or first.casefold() in _ALL:
            return None, after(words, 1)
        name = repository_in(bare(first))
        if name is None:
            raise typed.misread(
                "Say what: a repository, or everything.", typed.usage, f"{typed.name} everything"
            )
        return name, after(words, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternsArgument:
    """Paths that may be written too."""

    noun: str = "the patterns"
    help: str = "What it may write too, as '+src/**'."

    def read(self, words: str, typed: Typed) -> tuple[tuple[str, ...], str]:
        items = [_unquoted(item) for item in words.split()]
        patterns = [_unquoted(item[1:]) for item in items if item.startswith("+")]
        if not patterns or len(patterns) != len(items):
            example = typed.usage.replace("+src/**", "+src/** +README.md")
            raise typed.misread("Say which files may be written too, each with a plus.", example)
        if len(patterns) > MOST_PATTERNS:
            raise typed.misread(f"A scope takes at most {MOST_PATTERNS} patterns at once.")
        try:
            return Scope.parse(json.dumps(patterns)).patterns, ""
        except ScopeError:
            raise typed.misread("One of these patterns is none that a scope can have.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalArgument:
    """What waits for a person's yes or no."""

    kinds: Collection[ApprovalKind] = frozenset(ApprovalKind)
    noun: str = "the number"

    @property
    def help(self) -> str:
        """By the kinds it takes."""
        names = {ApprovalKind.DECISION: "a decision's number", ApprovalKind.PROPOSAL: "a proposal as p3"}
        named = [names.get(kind, "a draft as d3") for kind in ApprovalKind if kind in self.kinds]
        return f"{' or '.join(named)}.".capitalize()

    def read(self, words: str, typed: Typed) -> tuple[ApprovalRef | None, str]:
        """None in a comment that names none: the decision its job waits for. There, only a plain number names one: the words may be an
        answer that begins with `3.`"""
        if typed.is_comment:
            found = self.named(word(words, 0))
            return (found, after(words, 1)) if found is not None else (None, words)
        noun = word(words, 0).casefold()
        if noun not in set(ApprovalKind):
            found, skipped = self.named(bare(word(words, 0))), 1
        else:
            found, skipped = self._of_kind(ApprovalKind(noun), bare(word(words, 1))), 2
        if found is not None:
            return found, after(words, skipped)
        raise typed.misread("Say which decision, by its number.", typed.usage, "decisions")

    def _of_kind(self, kind: ApprovalKind, text: str) -> ApprovalRef | None:
        """What a number means after its noun, as in `proposal 3` or `proposal p3`."""
        number = number_in(text)
        if number is not None:
            return ApprovalRef(kind=kind, number=number) if kind in self.kinds else None
        found = self.named(text)
        return found if found is not None and found.kind is kind else None

    def named(self, text: str) -> ApprovalRef | None:
        """What one word names; None for anything else."""
        readers = (
            (ApprovalKind.PROPOSAL, proposal_in),
            (ApprovalKind.DRAFT, draft_in),
            (ApprovalKind.DECISION, number_in),
        )
        for kind, read in readers:
            number = read(text) if kind in self.kinds else None
            if number is not None:
                return ApprovalRef(kind=kind, number=number)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRef:
    """A skill by its name, with its repository where that was said."""

    name: str
    space: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillArgument:
    """A skill."""

    noun: str = "the skill"
    help: str = "The skill's name."

    def read(self, words: str, typed: Typed) -> tuple[SkillRef, str]:
        first = bare(word(words, 0))
        space = repository_in(first) if "/" in first else None
        skipped = int(space is not None)
        name = bare(word(words, skipped))
        if not _SKILL.fullmatch(name):
            raise typed.misread("Say which skill, by its name.", typed.usage, "skills")
        return SkillRef(name=name, space=space), after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeArgument:
    """An initiative."""

    noun: str = "the initiative"
    help: str = "An initiative: i3, or its short name."

    def read(self, words: str, typed: Typed) -> tuple[InitiativeRef, str]:
        """Its noun before it may be left out."""
        skipped = int(word(words, 0).casefold() == "initiative")
        found = initiative_in(bare(word(words, skipped)))
        if found is None:
            raise typed.misread("Say which initiative, as in i3.", typed.usage, "portfolio")
        return found, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArgument:
    """A task of an initiative."""

    noun: str = "the task"
    help: str = "A task: i3.4 is task 4 of initiative i3."

    def read(self, words: str, typed: Typed) -> tuple[TaskRef, str]:
        """Its noun before it may be left out."""
        skipped = int(word(words, 0).casefold() == "task")
        found = task_in(bare(word(words, skipped)))
        if found is None:
            raise typed.misread("Say which task, as in i3.4.", typed.usage, "portfolio")
        return found, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsArgument:
    """Words of one's own: everything that follows."""

    missing: str = ""
    """What is said where there are none; nothing where they may be left out."""
    option: str = ""
    """On the command line: the option they are given with; without one they come last."""
    noun: str = "the words"
    help: str = "Why; it is kept with the answer."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """In a comment, what may be left out is not read: `@overlord stop using globals` is no command."""
        if not words and self.missing:
            raise typed.misread(self.missing)
        return ("", words) if typed.is_comment and not self.missing else (words, "")


def arguments_of(record: type) -> Iterator[tuple[str, Argument]]:
    """The fields of a record that are typed, in order, each with its kind."""
    hints = get_type_hints(record, include_extras=True)
    typed = (item.name for item in fields(record) if hasattr(hints[item.name], "__metadata__"))
    return ((name, hints[name].__metadata__[0]) for name in typed)


Record = TypeVar("Record")


def read_arguments(record: type[Record], words: str, typed: Typed) -> Record:
    """The record that some words stand for. Raises CommandError."""
    values, rest, noun = dict[str, object](), words, "it"
    for name, kind in arguments_of(record):
        values[name], rest = kind.read(rest, typed)
        noun = noun if typed.is_comment and not values[name] else kind.noun
    if rest:
        raise typed.misread(f"That one takes nothing after {noun}.")
    return record(**values)


def word(text: str, index: int) -> str:
    """One of the words; nothing where there are fewer."""
    return next(iter(text.split()[index : index + 1]), "")


def after(text: str, words: int) -> str:
    """What follows so many words, with its own line breaks."""
    return next(iter(text.split(None, words)[words:]), "").rstrip()


def bare(text: str) -> str:
    """A word without what people put around it."""
    return text.strip("`'\"(),:;.?!")


def _unquoted(text: str) -> str:
    return text.strip("`'\"")
