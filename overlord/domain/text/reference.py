"""How people name things: a job by its number, an issue as `#42`, `owner/repo#42` or by its address, a repository by its name, an
initiative as `i3`, a task of it as `i3.4`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from overlord.errors import NotFound, Refused

_MOST_DIGITS = 9
_OWNER = r"(?=[A-Za-z0-9_-]{1,39}/)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:_[A-Za-z0-9]+)?"
"""What comes after `_` is the short name of an enterprise that manages its users."""
_NAME = r"(?!\.{1,2}(?![A-Za-z0-9._-]))[A-Za-z0-9._-]{1,100}(?<!\.[gG][iI][tT])"
_SPACE = rf"{_OWNER}/{_NAME}"
"""GitHub's rules. `o/..` would be another address of the API's, and clone addresses may end with `.git`."""
_NUMBER = rf"[0-9]{{1,{_MOST_DIGITS}}}"
_ISSUE = re.compile(rf"(?P<space>{_SPACE})?#(?P<number>{_NUMBER})")
_ADDRESS = re.compile(
    rf"https?://[^\s/@]{{1,255}}/(?P<space>{_SPACE})/(?:issues|pull)/(?P<number>{_NUMBER})(?:[/?#]\S{{0,500}})?"
)
_PLAIN = re.compile(_NUMBER)
_PROPOSAL = re.compile(rf"[pP](?P<number>{_NUMBER})")
_DRAFT = re.compile(rf"[dD](?P<number>{_NUMBER})")
_INITIATIVE = re.compile(rf"[iI]?(?P<number>{_NUMBER})")
_TASK = re.compile(rf"[iI]?(?P<initiative>{_NUMBER})\.#?(?P<number>{_NUMBER})")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_SLUG = 64
_FULL_NAME = re.compile(_SPACE)
_OWN_NAME = re.compile(_NAME)
_REPOSITORY_ADDRESS = re.compile(rf"https?://[^\s/@]{{1,255}}/(?P<space>{_SPACE})(?:\.git)?/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRef:
    """An issue, or a pull request: they are counted together. `space` is None where only a number was said."""

    number: int
    space: str | None = None

    def __str__(self) -> str:
        return f"{self.space or ''}#{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRef:
    """A job, by its own number."""

    number: int

    def __str__(self) -> str:
        return f"job {self.number}"


Target = JobRef | IssueRef


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeRef:
    """An initiative: by its number, or by its slug where `number` is None."""

    number: int | None = None
    slug: str = ""

    def __str__(self) -> str:
        """As the store finds it: `initiatives.named`."""
        return f"i{self.number}" if self.number is not None else self.slug


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRef:
    """A task, by the number of its initiative and its own."""

    initiative: int
    number: int

    def __str__(self) -> str:
        """As the store finds it: `tasks.named`."""
        return f"i{self.initiative}.{self.number}"


def issue_in(word: str) -> IssueRef | None:
    """`#42`, `owner/repo#42`, or an issue's address; None for anything else."""
    found = _ISSUE.fullmatch(word) or _ADDRESS.fullmatch(word)
    return IssueRef(number=int(found["number"]), space=found["space"]) if found else None


def target_in(word: str) -> Target | None:
    """An issue, or a plain number: a job's. None for anything else."""
    return JobRef(number=int(word)) if _PLAIN.fullmatch(word) else issue_in(word)


def number_in(word: str) -> int | None:
    """A plain number, `#5` too; None for anything else."""
    plain = word.removeprefix("#")
    return int(plain) if _PLAIN.fullmatch(plain) else None


def proposal_in(word: str) -> int | None:
    """A proposal as people write it, `p3`; None for anything else."""
    found = _PROPOSAL.fullmatch(word)
    return int(found["number"]) if found else None


def draft_in(word: str) -> int | None:
    """A draft of a skill as people write it, `d3`; None for anything else."""
    found = _DRAFT.fullmatch(word)
    return int(found["number"]) if found else None


def initiative_in(word: str) -> InitiativeRef | None:
    """`i3`, `3`, or a slug as `faster-start`; None for anything else."""
    if found := _INITIATIVE.fullmatch(word):
        return InitiativeRef(number=int(found["number"]))
    slug = word.casefold()
    return InitiativeRef(slug=slug) if len(slug) <= _MOST_SLUG and _SLUG.fullmatch(slug) else None


def task_in(word: str) -> TaskRef | None:
    """`i3.4`; None for anything else."""
    found = _TASK.fullmatch(word)
    return TaskRef(initiative=int(found["initiative"]), number=int(found["number"])) if found else None


def is_full_name(word: str) -> bool:
    """Whether `owner/repo` can be a repository's name at GitHub: everywhere where one is read, this decides."""
    return _FULL_NAME.fullmatch(word) is not None


def repository_in(word: str) -> str | None:
    """What may name a repository: `owner/repo`, `repo`, its address. None for anything else."""
    if address := _REPOSITORY_ADDRESS.fullmatch(word):
        return address["space"]
    return word if is_full_name(word) or _OWN_NAME.fullmatch(word) else None


def space_named(text: str | None, repositories: Sequence[str]) -> str:
    """The repository managed by Overlord that is meant, as the settings spell it: by its full name, by its own where only one
    has it, or by nothing where there is only one.

    Raises NotFound for one that is not among them, Refused where it could be several.
    """
    known = ", ".join(repositories) or "none"
    if text is None:
        if len(repositories) == 1:
            return repositories[0]
        raise Refused(f"say which repository, as in owner/repo; there is {known}")
    folded = text.casefold()
    whole = [name for name in repositories if name.casefold() == folded]
    found = whole or [name for name in repositories if name.casefold().rpartition("/")[2] == folded]
    if not found:
        raise NotFound(f"no repository of that name is managed by Overlord; there is {known}")
    if len(found) > 1:
        raise Refused(f"say which repository: {' or '.join(found)}")
    return found[0]
