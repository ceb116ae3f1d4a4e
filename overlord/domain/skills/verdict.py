"""What findings in a skill come to. Apart from the judge, which reads skills: whoever only shows a verdict needs none of that."""

from collections.abc import Sequence
from enum import StrEnum

from overlord.domain.skills.finding import SkillFinding
from overlord.domain.skills.scan.rule import Level


class SkillVerdict(StrEnum):
    """`flag` and `accept` both wait for a person, who for `flag` is shown what to look at."""

    ACCEPT = "accept"
    FLAG = "flag"
    REJECT = "reject"


def verdict_of(findings: Sequence[SkillFinding]) -> SkillVerdict:
    """What findings come to."""
    levels = {finding.level for finding in findings}
    if Level.REJECT in levels:
        return SkillVerdict.REJECT
    return SkillVerdict.FLAG if Level.FLAG in levels else SkillVerdict.ACCEPT


def why_of(findings: Sequence[SkillFinding]) -> str:
    """The gravest of them, in a sentence; empty when there is none."""
    graver = [item for item in findings if item.level is Level.REJECT] or list(findings)
    if not graver:
        return ""
    place = f" (line {graver[0].line})" if graver[0].line else ""
    return f"{graver[0].rule}{place}: {graver[0].message}"
