"""What is on record about a skill of a repository: where it came from, and what is at base now."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from math import comb
from typing import TYPE_CHECKING, Self

from overlord.domain.text.plain import count

if TYPE_CHECKING:
    from overlord.domain.skills.file import Skill


class Origin(StrEnum):
    """Who wrote a skill."""

    MANUAL = "manual"
    EVOLVED = "evolved"
    """A draft of Overlord's that a person approved."""


class SkillState(StrEnum):
    """Whether Minions are offered it."""

    PRESENT = "present"
    GONE = "gone"
    """No longer at base, or not yet, or not read there because the judge rejects it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAtBase:
    """A skill as it stands at a repository's base commit."""

    name: str
    version: str
    digest: str
    """Of what the file says: a text can change without a new version."""
    path: str
    description: str

    @classmethod
    def read(cls, skill: "Skill", path: str) -> Self:
        return cls(
            name=skill.name,
            version=skill.version,
            digest=text_digest(skill),
            path=path,
            description=skill.description,
        )


def text_digest(skill: "Skill") -> str:
    """What tells one text of a skill from another, whatever version it calls itself."""
    return sha256(skill.model_dump_json().encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """A row of the registry."""

    space: str
    name: str
    origin: Origin
    state: SkillState
    version: str
    digest: str
    path: str
    description: str
    first_seen_at: datetime
    changed_at: datetime
    """Since when its text is what it is."""
    last_seen_at: datetime

    @property
    def is_present(self) -> bool:
        return self.state is SkillState.PRESENT


ENOUGH = 5
"""Jobs of either kind that must have ended before a skill is held to do worse."""
POINTS = 20
"""Of a hundred by which its rate has to lie below the others'."""
CHANCE = 0.1
"""How likely it may be that the difference is none (Fisher's exact test, one side)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillStatistics:
    """How the jobs went that loaded a skill, beside the others of its repository at the same time.

    A job went well that was merged and for which nobody had to be asked on the way. Only jobs that have ended count.
    """

    offered: int
    """Jobs that could load it."""
    loaded: int
    """Jobs that did, ended or not."""
    ended: int
    well: int
    others: int
    others_well: int

    @property
    def rate(self) -> int | None:
        """Of a hundred jobs with it, how many went well."""
        return 100 * self.well // self.ended if self.ended else None

    @property
    def baseline(self) -> int | None:
        """Of a hundred others, how many did."""
        return 100 * self.others_well // self.others if self.others else None

    @property
    def is_worse(self) -> bool:
        """Whether it does worse than work without it, over enough jobs, and hardly by chance."""
        if min(self.ended, self.others) < ENOUGH:
            return False
        behind = self.others_well * self.ended - self.well * self.others
        if behind * 100 < POINTS * self.ended * self.others:
            return False
        return self._chance() < CHANCE

    @property
    def sentence(self) -> str:
        """In a sentence."""
        if not self.ended:
            return "no job that loaded it has ended yet"
        mine = f"{self.well} of {count(self.ended, 'job')} went well"
        others = f"{self.others_well} of {count(self.others, 'other')}" if self.others else "no others yet"
        return f"{mine}, beside {others}{', which is worse' if self.is_worse else ''}"

    def _chance(self) -> float:
        """How likely so few of its jobs go well if it makes no difference: the lower tail of the hypergeometric distribution."""
        jobs, good = self.ended + self.others, self.well + self.others_well
        least = max(0, self.ended - (jobs - good))
        ways = sum(comb(good, k) * comb(jobs - good, self.ended - k) for k in range(least, self.well + 1))
        return ways / comb(jobs, self.ended)
