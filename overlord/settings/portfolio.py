"""The settings of the portfolio: when it is gone through, how much of it is open at once, and what it may cost."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from overlord.domain.cron import Cron, check_cron, check_zone
from overlord.settings.model import Dollars, Positive, Section

Autonomy = Literal["cautious", "proactive", "scheduled"]
"""cautious: what is generated is proposed to a person. proactive: it is planned at once, and a person approves the plan.
scheduled: the same, at the times of the schedule alone. Tasks of an approved plan go on at any time."""
OFF = "off"


class Portfolio(Section):
    """The portfolio of one repository, or what is said for all."""

    schedule: str
    """A cron expression, or `off`."""
    time_zone: str
    stale_days: Annotated[int, Field(ge=1, le=365)]
    """A task that nobody took up for so long is stale."""
    open_initiatives: Annotated[int, Field(ge=1, le=50)]
    """At once, in one repository."""
    initiative_usd: Dollars | None
    """All jobs of one initiative together."""
    initiative_tokens: Positive | None
    """All jobs of one initiative together."""
    most_tasks: Annotated[int, Field(ge=1, le=200)]
    """Of one initiative, whoever adds them."""
    session_tasks: Annotated[int, Field(ge=0, le=50)]
    """What one session may add of what it came upon."""
    thin_notes: Annotated[int, Field(ge=0, le=100)]
    """With fewer notes, what is known of a repository counts as thin."""
    leads: Annotated[int, Field(ge=1, le=10)]
    """Planning sessions at once, in one repository."""
    path_leases: bool
    """Whether jobs whose scopes overlap wait for each other."""
    retrospectives: bool
    """Whether each job that ended is looked back on, for notes."""

    @field_validator("schedule", mode="before")
    @classmethod
    def _is_read(cls, value: Any) -> Any:
        # YAML reads the word off as false.
        if value is None or value is False or (isinstance(value, str) and value.strip().lower() in {"", OFF}):
            return OFF
        return check_cron(value) if isinstance(value, str) else value

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return check_zone(value)

    @property
    def cron(self) -> Cron | None:
        """When the portfolio is gone through by the clock; None for never."""
        return None if self.schedule == OFF else Cron(expression=self.schedule, zone=self.time_zone)
