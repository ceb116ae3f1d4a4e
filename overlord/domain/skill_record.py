"""What is on record about a skill of a repository: where it came from, and what is at base now."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Self

from overlord.domain.skill import Skill


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
    def read(cls, skill: Skill, path: str) -> Self:
        digest = sha256(skill.model_dump_json().encode()).hexdigest()[:16]
        return cls(
            name=skill.name, version=skill.version, digest=digest, path=path, description=skill.description
        )


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
