"""Whether a revision brought its work nearer to a pass: its findings against those of the attempt before.

An attempt costs as much as the first one, so another is worth it only while what is held against the work shrinks. It shrinks when
there are fewer findings, or when a check passes now that had something against the work before: then the work got further, whatever
a later check says. New findings in place of old ones are no less. Three things keep the count honest:

- findings are the same wherever in a file they are, and two that read alike count twice: one of them may be gone;
- what is only told, and held against nobody, does not count;
- a check that was not made this time has still against the work what it had before: nobody looked.

An attempt that was sent back without a finding cannot be compared, so the count of revisions alone limits it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from minion.protocol import Finding
from overlord.domain.evaluation import (
    SHOWN_LAST,
    CheckName,
    CheckResult,
    CheckScore,
    EvaluationResult,
    describe,
)
from overlord.domain.text.plain import plain_line

SHOWN = 2
"""Findings that are named in the reason."""
SHOWN_CHARS = 200
_NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_HELD = (CheckScore.NEEDS_REVISION, CheckScore.FAIL)
_SETTLED = (CheckScore.PASS, CheckScore.NOT_JUDGED)

Matter = tuple[str, str, str, str]
"""What makes two findings the same: check, rule, file, message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Two attempts one after the other, of which the later is no nearer to a pass."""

    attempt: int
    """Which attempt it was, from 1."""
    before: int
    """How much was held against the attempt before it."""
    after: int
    left: tuple[Finding, ...]
    """What is held against the later one, those first that were there before."""
    is_same: bool
    """The very same things as before."""

    def reason(self) -> str:
        """Why there is no other revision, as a sentence without its stop."""
        is_named = self.attempt <= len(_NUMBERS)
        this, last = _NUMBERS[self.attempt - 2 : self.attempt][::-1] if is_named else ("last", "one before")
        if self.is_same:
            same = "the same finding" if self.after == 1 else f"the same {self.after} findings"
            text = f"the {this} attempt left {same} as the {last}"
        elif self.after == self.before:
            text = f"the {this} attempt left as many findings as the {last} ({self.after})"
        else:
            text = (
                f"the {this} attempt left more findings than the {last} ({self.after}, before {self.before})"
            )
        named = "; ".join(plain_line(describe(item), limit=SHOWN_CHARS) for item in self.left[:SHOWN])
        more = f" and {len(self.left) - SHOWN} more" if len(self.left) > SHOWN else ""
        return f"{text}: {named.rstrip('.')}{more}" if named else text


def standstill(before: EvaluationResult, after: EvaluationResult) -> Standstill | None:
    """What two attempts that were both sent back say together; None while the findings shrink, or cannot be compared."""
    old, new = _held(before.checks), _held(after.checks)
    passed = {check.name for check in after.checks if check.score in _SETTLED}
    made = {check.name for check in after.checks if check.score is not None}
    if not old or any(check in passed for check, _ in old):
        return None
    unseen = tuple(held for held in old if held[0] not in made)
    left = tuple(finding for _, finding in (*new, *unseen))
    if len(left) < len(old):
        return None
    was, now = Counter(matter(finding) for _, finding in old), Counter(map(matter, left))
    return Standstill(
        attempt=after.revision_number + 1,
        before=len(old),
        after=len(left),
        left=tuple(sorted(left, key=lambda item: matter(item) not in was)),
        is_same=was == now,
    )


def previous(past: Sequence[EvaluationResult]) -> EvaluationResult | None:
    """The evaluation of the attempt before the last one of a job, in the same count of revisions. One that was made again, as after
    checks that could not be made, is none of an attempt before."""
    if not past or past[-1].revision_number == 0:
        return None
    wanted = past[-1].revision_number - 1
    return next((made for made in reversed(past[:-1]) if made.revision_number == wanted), None)


def matter(finding: Finding) -> Matter:
    """What a finding is about, wherever in its file it is."""
    return (finding.check, finding.rule, finding.file or "", finding.message)


def _held(checks: Sequence[CheckResult]) -> tuple[tuple[CheckName, Finding], ...]:
    """What is held against a change, each once, with the check that says so: not what is only told."""
    found = ((check.name, item) for check in checks if check.score in _HELD for item in check.findings)
    return tuple(dict.fromkeys(held for held in found if held[1].rule not in SHOWN_LAST))
