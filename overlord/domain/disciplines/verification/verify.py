"""`verified`, for each discipline: what has to be run, which files have to be read, and what that shows. The engine asks in this order:

1. `plan` says the runs of a check session, from what the worker changed. Empty: nothing is run.
2. `needed` says the files whose content is looked at, at base and with the change, from the worker's result and what it changed. Those
   that are there go into `Seen.base` and `Seen.head`.
3. `judge` says what all of it shows. Besides it looks at `Seen.files_read` (review: the line ranges that the transcript's `read_file`
   results showed), `Seen.entries` (retrospective) and `Seen.records` (trainer).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from overlord.domain.checks.file import ChecksFile
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification.diagnosis import judge_debug
from overlord.domain.disciplines.verification.green import judge_green, plan_green
from overlord.domain.disciplines.verification.looking_back import judge_retrospective, judge_trainer
from overlord.domain.disciplines.verification.red import judge_red_call, needed_for_red, plan_red
from overlord.domain.disciplines.verification.refactor import (
    judge_refactor,
    needed_for_refactor,
    plan_refactor,
)
from overlord.domain.disciplines.verification.review import judge_review_call, needed_for_review
from overlord.domain.disciplines.verification.runs import Asked, needed_code
from overlord.domain.disciplines.verification.seen import Needed, Plan, Seen
from overlord.domain.disciplines.verification.specification import judge_spec, needed_for_spec
from overlord.domain.event import Json
from overlord.domain.scope.check import Change

_PLANS: Mapping[DisciplineName, Callable[[Asked], Plan]] = {
    DisciplineName.TDD_RED: plan_red,
    DisciplineName.TDD_GREEN: plan_green,
    DisciplineName.TDD_REFACTOR: plan_refactor,
}
_NEEDED: Mapping[DisciplineName, Callable[[Seen], Needed]] = {
    DisciplineName.TDD_RED: needed_for_red,
    DisciplineName.TDD_GREEN: needed_code,
    DisciplineName.TDD_REFACTOR: needed_for_refactor,
    DisciplineName.REVIEW: needed_for_review,
    DisciplineName.SPEC: needed_for_spec,
}
_JUDGES: Mapping[DisciplineName, Callable[[Seen], Verification]] = {
    DisciplineName.TDD_RED: judge_red_call,
    DisciplineName.TDD_GREEN: judge_green,
    DisciplineName.TDD_REFACTOR: judge_refactor,
    DisciplineName.REVIEW: judge_review_call,
    DisciplineName.DEBUG: judge_debug,
    DisciplineName.SPEC: judge_spec,
    DisciplineName.RETROSPECTIVE: judge_retrospective,
    DisciplineName.TRAINER: judge_trainer,
}


def plan(
    discipline: DisciplineName,
    *,
    changes: Sequence[Change],
    arguments: Mapping[str, Json],
    directory: str = "",
    checks: ChecksFile | None = None,
    timeout_s: int = 600,
) -> Plan:
    """What a check session has to run, on the files as they were (`Tree.BASE`) and with the change. `checks` are the repository's own
    commands at base, `timeout_s` the most that one run may take."""
    make = _PLANS.get(discipline)
    if make is None:
        return Plan()
    return make(
        Asked(changes=changes, arguments=arguments, directory=directory, checks=checks, timeout_s=timeout_s)
    )


def needed(discipline: DisciplineName, seen: Seen) -> Needed:
    """The files whose content `judge` looks at; `seen` may lack contents and the report still."""
    ask = _NEEDED.get(discipline)
    return ask(seen) if ask is not None else Needed()


def judge(discipline: DisciplineName, seen: Seen) -> Verification:
    """What code finds of a result. The worker's own word on it counts for nothing, and where it said otherwise that is told."""
    made = _JUDGES[discipline](seen)
    if seen.result.claims_verified and not made.verified and discipline is not DisciplineName.DEBUG:
        return replace(made, why=f"{made.why} The worker said that it is verified.")
    return made
