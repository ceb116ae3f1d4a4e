"""One look at the state: what a query reads from, and what it finds there by the names people use."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from overlord.domain.decision import ApprovalRef, Decision
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task
from overlord.domain.scope.check import Change
from overlord.domain.text.reference import InitiativeRef, IssueRef, Target, TaskRef, space_named
from overlord.store import decisions, jobs
from overlord.store.portfolio import initiatives, tasks

if TYPE_CHECKING:
    from overlord.settings.load import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAtBase:
    """Files of a repository at a commit of its base branch."""

    commit: Sha
    files: Mapping[str, bytes]


class Commits(Protocol):
    """What a query reads of commits: of the mirrors of this machine, as they are, without asking anybody."""

    def contract_files(self, space: str, branches: tuple[str, ...]) -> FilesAtBase | None:
        """The files of a repository's own contract, at the first of these branches that is there; None where there are none."""

    def changes(self, space: str, base: Sha, head: Sha) -> tuple[Change, ...] | None:
        """What differs between two commits; None where they are not there any more."""

    def paths(self, space: str, commit: Sha) -> tuple[str, ...] | None:
        """Every file of a commit; None where it is not there any more."""


class NoCommits:
    """Where nobody has a mirror."""

    def contract_files(self, _space: str, _branches: tuple[str, ...]) -> FilesAtBase | None:
        return None

    def changes(self, _space: str, _base: Sha, _head: Sha) -> tuple[Change, ...] | None:
        return None

    def paths(self, _space: str, _commit: Sha) -> tuple[str, ...] | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One consistent view of the database, with the settings as they are now."""

    connection: sqlite3.Connection
    current_settings: Callable[[], "Settings"]
    """Read when they are asked for: a command line has to load them first."""
    at: datetime
    is_local: bool = False
    """Whether it is the state of a repository's local runs, where there are branches and no pull requests."""
    settings_problem: str = ""
    """Why the settings do not load, where those of `settings` are the built-in ones for that."""
    commits: Commits = field(default_factory=NoCommits)
    spaces: tuple[str, ...] = ()
    """The repositories that whoever looks may see; empty for all."""

    def sees(self, space: str) -> bool:
        """Whether they may see a repository; what is about all of them too."""
        return not (self.spaces and space) or space.casefold() in {name.casefold() for name in self.spaces}

    def is_theirs(self, space: str) -> bool:
        """Whether something belongs in a list of theirs: what is about all repositories is for who may see all."""
        return not self.spaces or bool(space and self.sees(space))

    @property
    def settings(self) -> "Settings":
        """The settings as they are now. Raises SettingsError."""
        return self.current_settings()

    @property
    def here(self) -> IssueRef | None:
        """The issue or pull request where it is asked, in a comment."""
        return None

    def newest_job(self, target: Target | None) -> Job:
        """The job that is meant, whether it has ended or not. Raises NotFound, Refused."""
        named = target or self.here
        assert named is not None, "elsewhere a job is typed"
        return jobs.meant(self.connection, named)

    def space(self, named: str | None) -> str:
        """The repository that is named, as the settings spell it; empty for everything. Raises NotFound, Refused."""
        return space_named(named, self.settings.repositories) if named is not None else ""

    def decision_space(self, decision: Decision) -> str:
        """The repository that a decision is about."""
        return decision.space if decision.job_id is None else jobs.get(self.connection, decision.job_id).space

    def decision(self, ref: ApprovalRef | None) -> Decision:
        """The decision that is named, a proposal's or a draft's too. Raises NotFound."""
        assert ref is not None, "elsewhere a decision is typed"
        return decisions.meant(self.connection, ref)

    def initiative(self, ref: InitiativeRef) -> Initiative:
        """The initiative that is meant. Raises NotFound."""
        return initiatives.named(self.connection, str(ref))

    def task(self, ref: TaskRef) -> Task:
        """The task that is meant. Raises NotFound."""
        return tasks.named(self.connection, str(ref))
