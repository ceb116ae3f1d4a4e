"""What a contract says to one session: its phase, what is asked of it, what it may start, and what the job's plan holds.

Part of the brief (`minion/protocol.py`); absent for sessions that no contract's phase is about.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """An artifact of the job's plan, which is never in the repository. It is laid into the working copy."""

    path: str
    """Below `plan/`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A piece of the job that a delegation gives to a role."""

    name: str
    text: str
    blocked: str = ""
    """Why it is not to be worked on; empty where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSession:
    """What an earlier session of another phase said it did."""

    role: str
    phase: str
    summary: str


class ConsultationKind(StrEnum):
    """What a session is asked that writes nothing and answers one question."""

    RESOLUTION = "resolution"
    """How a role that cannot go on is to go on."""
    GATE = "gate"
    """Whether the work goes through a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultation:
    """A question to a session that writes nothing."""

    kind: ConsultationKind
    question: str
    facts: str
    """What it is about: failures, the diff, artifacts. Untrusted."""
    choices: tuple[str, ...]
    """The answers there are: `guidance`, `approve`, …"""


class Bootstrap(StrEnum):
    """What a session of a repository's first job records beside its work, each by a tool of its own."""

    DISCOVERY = "discovery"
    """What documents and code answer: `record_discovery`."""
    CONTRACT = "contract"
    """The contract it proposes: `propose_contract`."""

    @property
    def path(self) -> str:
        """The file of the plan that has what was recorded. Overlord writes it, and the tool that records does in the working copy."""
        return "plan/discovery.md" if self is Bootstrap.DISCOVERY else "plan/contract.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the contract says to a session."""

    contract: str
    phase: str
    guidance: str = ""
    """The contract's words to every role, then those to this one."""
    outputs: tuple[str, ...] = ()
    """What it has to bring, in words."""
    criteria: tuple[str, ...] = ()
    """What has to be so afterwards, as `command_succeeds: npm test`."""
    commands: tuple[str, ...] | None = None
    """The programs that run_command may start; None for any."""
    tools: tuple[str, ...] = ()
    """The tools it has beside those that end it; empty for every tool."""
    outcomes: tuple[str, ...] = ("done",)
    """The words with which its work can be complete."""
    events: tuple[str, ...] = ()
    """Further reasons for which it may hand its work up, beside `needs_escalation`."""
    plan: tuple[PlanFile, ...] = ()
    plan_outputs: tuple[str, ...] = ()
    """Patterns below `plan/` that it may write, beside those that its scope names. A scope opens the plan only by naming it: `**`
    and an unrestricted one do not."""
    plan_hides_own: bool = False
    """Whether the plan takes the place of what the repository has at `plan/`, which is out of sight and stays as it is."""
    inputs: tuple[str, ...] = ()
    """The phase's inputs: patterns of what to read, `issue` among them."""
    reads: tuple[str, ...] = ()
    """Files at base that every session reads first."""
    assignments: tuple[Assignment, ...] = ()
    history: tuple[EarlierSession, ...] = ()
    feedback: tuple[str, ...] = ()
    """What was held against the last attempts, what the architect or a person said of them."""
    last_diff: str = ""
    """What the last attempt had changed, which was taken back."""
    secret_paths: tuple[str, ...] = ()
    """Patterns of files that are kept out of sight."""
    consultation: Consultation | None = None
    bootstrap: Bootstrap | None = None
    contract_schema: str = ""
    """For `propose_contract`: the JSON schema of its argument."""
