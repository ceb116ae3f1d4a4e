"""A call of a discipline: what was asked for, on which files, and what became of it. A row; its work is a job's.

The job of a call has no issue at a forge: its issue's number is the call's, negative.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from overlord.domain.disciplines.catalog import KINDS, DisciplineKind, DisciplineName
from overlord.domain.identifiers import NO_COMMIT, RepositoryName, Sha
from overlord.domain.job import JobId

CallId = NewType("CallId", int)


class CallState(StrEnum):
    """Where a call is. `ended` has a result, whatever it says; `cancelled` has none."""

    OPEN = "open"
    ENDED = "ended"
    CANCELLED = "cancelled"


class CallStatus(StrEnum):
    """What a result says of the work: by the worker, and no finding of ours."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What code found of a result: whether it holds, and why."""

    verified: bool
    why: str
    """One sentence, or a few: what was run, and what it showed."""
    code: str = ""
    """For red, how the test ended (`RedCode`): `assertion`, `import_error`, `error`, `no_test_ran`, `wrong_test`, `passed`, `not_run`,
    `unclear`; else empty."""
    output: str = ""
    """The telling part of what was run. Untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What whoever called is answered. The first eight fields are the worker's and ours in the form every discipline has."""

    status: CallStatus
    phase: str
    skill: str
    file_path: str = ""
    runner_output: str = ""
    verified: bool = False
    """Found by code, never the worker's word."""
    model_used: str = ""
    message: str = ""
    why: str = ""
    """Why it is verified, or not."""
    code: str = ""
    """As in `Verification`."""
    changed: tuple[str, ...] = ()
    """The files that the patch changes."""
    base_tree: str = ""
    """The tree of git that the work began on: the files as they were."""
    head_tree: str = ""
    """The tree with the change; as `base_tree` where nothing was changed."""
    evidence: str = ""
    """The SHA-256 of the evidence: what was run, and what it showed."""
    turns: int = 0
    nusd: int | None = None
    """What its model cost, in nano-dollars; None where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A row."""

    id: CallId
    discipline: DisciplineName
    space: RepositoryName
    session_key: str
    """The caller's `session_id`; empty for none."""
    actor: str
    """Who called, as the ledger names them: `mcp:alice`, `web:ci`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As they were checked; `project_root` as it was given."""
    model: str = ""
    """A name of models.yaml; empty for the repository's."""
    directory: str = ""
    """The directory of the repository that `project_root` means; empty for its root."""
    branch: str = ""
    """Over HTTP, the branch it begins on; empty for the default one, and where the caller's files are the base."""
    is_checkout: bool = True
    """Whether the caller's own files are the base: then `base_sha` is known from the beginning."""
    base_sha: Sha = NO_COMMIT
    """The commit of ours over the files the work begins on."""
    state: CallState = CallState.OPEN
    stage: str = ""
    """What it is at, in a few words: `waits for a session`, `turn 3: read_file`, `tests are run`."""
    job_id: JobId | None = None
    result: CallResult | None = None
    patch: str = ""
    """The SHA-256 of the patch among the evidence; empty where nothing was changed."""
    ledger_head: str = ""
    """The hash of the ledger's event that says how it ended, which everything before it is chained to."""
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def ref(self) -> str:
        """Its handle: `c7`."""
        return f"c{self.id}"

    @property
    def kind(self) -> DisciplineKind:
        return KINDS[self.discipline]

    def text(self, name: str) -> str:
        """An argument that is a text; empty where it was left out."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    @property
    def files(self) -> tuple[str, ...]:
        """For a review: what is reviewed."""
        value = self.arguments.get("files")
        return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()


def read_ref(text: str) -> CallId | None:
    """The call that a handle names; None for what is no handle."""
    number = text.removeprefix("c")
    if number == text or not number.isascii() or not number.isdigit() or len(number) > 12:
        return None
    return CallId(int(number))
