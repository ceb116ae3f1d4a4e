"""What is held against a skill: the rule, how grave it is, and where in its file."""

from dataclasses import dataclass
from functools import lru_cache

from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.plain import visible
from overlord.domain.text.secret_detection import redacted

EVIDENCE_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFinding:
    """One thing held against a skill, and where in its file."""

    rule: str
    level: Level
    message: str
    line: int | None = None
    evidence: str = ""
    """What stands there, for people: cut, nothing hidden in it, secrets redacted."""


def shown_finding(rule: str, level: Level, message: str, line: int | None, evidence: str) -> SkillFinding:
    """A finding with what stands there made fit to be shown."""
    return SkillFinding(
        rule=rule, level=level, message=message, line=line, evidence=_evidence_shown(evidence)
    )


@lru_cache(maxsize=16)
def _evidence_shown(evidence: str) -> str:
    """Remembered, for much is found in one line one after another."""
    return redacted(" ".join(visible(evidence).split()))[:EVIDENCE_CHARS]
