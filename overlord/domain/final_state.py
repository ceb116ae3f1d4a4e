"""What a job was when it ended: kept once as evidence, whatever the ending."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from overlord.domain.job import TERMINAL, TRANSITIONS

ENDINGS = tuple(sorted({event for (_, event), target in TRANSITIONS.items() if target in TERMINAL}))
"""The facts that end a job."""
MOST_PATHS = 100_000
"""Of the tree; how many more there are is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """Something that waited for a person when the job ended."""

    decision: int
    subject: str
    title: str
    gate: str = ""
    """The contract's gate, where it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalSession:
    """One of its sessions."""

    id: str
    kind: str
    role: str
    ending: str
    commit: str
    """The commit that its work became; empty where nothing was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """All of it, as it is written down."""

    job: int
    issue: str
    title: str
    state: str
    reason: str
    ended_at: str
    contract: str
    contract_source: str
    contract_digest: str
    phase: str
    role: str
    branch: str
    base: str
    head: str
    pull: int | None
    sessions: tuple[FinalSession, ...]
    cost_usd: float | None
    """None where a model without a price was used."""
    tokens: int
    open_gates: tuple[Waited, ...]
    """What waited for people when it ended: gates of the contract and other questions."""
    tree: Mapping[str, str] = field(default_factory=dict)
    """Every file of the head with the name of its content."""
    tree_note: str = ""
    """Why the tree is not there, or not whole."""
