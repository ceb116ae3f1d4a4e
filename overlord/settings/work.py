"""The settings work is done by: labels, sessions, checks, questions, intake, delivery. A space may have its own of each."""

from typing import Annotated

from pydantic import Field, field_validator

from overlord.domain.checks.testruns.proof import ProofPolicy
from overlord.settings.model import Positive, Section


class Labels(Section):
    work: str
    in_progress: str
    in_review: str
    attention: str
    priority: str
    skill_change: str


class Sessions(Section):
    concurrent: Positive
    turns: Positive
    time_s: Positive
    tool_errors: Positive
    command_s: Positive
    silent_s: Positive
    grace_s: Annotated[float, Field(ge=0)]
    context_tokens: Positive
    memory_mb: Annotated[int, Field(ge=64)]
    cpus: Annotated[float, Field(gt=0)]


class Checks(Section):
    tests_s: Positive
    lint_s: Positive
    proof: ProofPolicy
    review: bool
    review_model: str
    debug_findings: bool
    """Whether a model is asked what may have caused a failure, when a revision is ordered."""
    setup_s: Positive

    @field_validator("proof", mode="before")
    @classmethod
    def _plain_off(cls, value: object) -> object:
        """YAML reads a bare `off` as false."""
        return ProofPolicy.OFF if value is False else value


class Questions(Section):
    per_session: Annotated[int, Field(ge=0)]
    wait_s: Positive


class Intake(Section):
    bots: tuple[str, ...]
    """The logins of bots whose labels and commands count, as `renovate[bot]`."""


class Delivery(Section):
    open_pulls: Positive
    rounds: Annotated[int, Field(ge=0)]
    """Of each kind: reviews that ask for changes, checks that fail, conflicts."""
    follow_checks: bool
    delete_branch: bool


class Proposals(Section):
    """How much has to be seen before Overlord proposes something; None for never."""

    issues: Annotated[int, Field(ge=2)] | None
    systemic: bool
    blockers: Annotated[int, Field(ge=2)] | None
    same_answers: Annotated[int, Field(ge=2)] | None
    pending: Positive


class Skills(Section):
    most: Annotated[int, Field(ge=0, le=50)]
    chars: Positive


class ProcessSessions(Section):
    python: str


class DockerEngine(Section):
    host: str
    image: str
    runtime: str
    timeout_s: Positive
