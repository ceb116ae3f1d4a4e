"""Debug: never verified, since nothing is run that would show a hypothesis. Its form is looked at, and what lacks is told."""

from overlord.domain.disciplines.call import CallStatus, Verification
from overlord.domain.disciplines.hypotheses import hypotheses_in, missing_in
from overlord.domain.disciplines.verification.seen import Seen

DIAGNOSIS = "It is a diagnosis: no hypothesis is verified until its command was run."


def judge_debug(seen: Seen) -> Verification:
    """What is to be said of a diagnosis."""
    if seen.result.status is CallStatus.ERROR:
        return Verification(verified=False, why="The worker made no diagnosis: its status is error.")
    missing = missing_in(hypotheses_in(seen.result.runner_output))
    return Verification(verified=False, why=f"{DIAGNOSIS} {missing}".strip())
