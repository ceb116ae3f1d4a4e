"""What the judge knows of a change beside its runs: its tests as syntax, its issue, and what was said of it before."""

from collections.abc import Collection
from dataclasses import dataclass

from overlord.domain.checks.testcode.compare import Compared
from overlord.domain.checks.testruns.proof import ProofPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeContext:
    """What is known of a change beside its runs."""

    proof: ProofPolicy = ProofPolicy.ASKED
    exempt: str = ""
    """Why it needs no proof, if it does not."""
    compared: Compared | None = None
    """Its test files, parsed."""
    was_asked: bool = False
    """Whether it was asked for a test already, in this round."""
    is_reviewed: bool = True
    """Whether a review comes that says whether the issue asks for what a test expects now. Without one a person does."""
    issue: str = ""
    imports: Collection[str] = frozenset()
    """Of the tests that are red before and after, the files that import what was changed."""
    summary: str = ""
    """The Minion's own words on its work."""


NOTHING_KNOWN = ChangeContext(proof=ProofPolicy.OFF)
