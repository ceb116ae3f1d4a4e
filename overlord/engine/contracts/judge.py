"""What a contract wants to be so after a role's session, and what its criteria see."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minion.protocol import Finding, Report, SessionKind
from overlord.domain.contracts.contract import BLOCKED, DONE
from overlord.domain.contracts.criteria.criterion import MOST_BYTES, CriterionResult, Seen
from overlord.domain.contracts.criteria.registry import AnyCriterion, files_of, wants_evaluation
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.onward import Nowhere, ToRole, after_role, leads_out
from overlord.domain.contracts.turn import Turn
from overlord.domain.evaluation import CheckName
from overlord.domain.job import Job
from overlord.domain.scope.check import Change
from overlord.domain.session import Session
from overlord.engine.contracts.carry_on import is_round
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.store import sessions
from overlord.store.contracts import actors, plan_files, role_notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is judged of a role's work, beside scope and integrity."""

    turn: Turn
    criteria: tuple[AnyCriterion, ...] = ()
    evaluation: bool = True
    """Whether tests, lint and review are."""
    outcome: str = DONE
    """What its session says of its phase."""
    has_terms: bool = False
    """Whether the contract says more than that the evaluation passes."""
    may_be_empty: bool = False
    """Whether work without a change in the repository can be good."""
    complaints: tuple[Finding, ...] = ()
    """What is held against the session itself: an outcome that no successor has, an artifact that is none."""


async def wanted(parts: Parts, job: Job) -> Wanted:
    """What the contract wants of the work that is there now."""
    turn = await parts.turn_of(job)
    if turn.contract.keeps_misses:
        return Wanted(turn=turn)
    found = await parts.database.read(lambda c: _wanted(c, job, turn))
    if await lead_job.is_ours(
        parts, job
    ):  # nothing of it runs, and it may be that only contract or plan comes of it
        return replace(found, evaluation=False, may_be_empty=True)
    return found


def _wanted(connection: sqlite3.Connection, job: Job, turn: Turn) -> Wanted:
    order = actors.in_order(connection, turn.contract, job, turn.phase_name)
    last = sessions.last_of(connection, job.id, SessionKind.WORK)
    is_fresh = last is not None and last.taken_sha == job.head_sha and not is_pushed_by_others(job, last)
    outcome = outcome_of(last) if is_fresh else DONE
    in_round = is_round(turn, job)
    complaints = _complaints(connection, job, turn, last) if is_fresh else ()
    onward = after_role(turn, outcome, order, is_round=in_round)
    if isinstance(onward, Nowhere) or outcome not in {DONE, *turn.phase.next}:
        complaints = (*complaints, _unknown(outcome, tuple(turn.phase.next) or (DONE,)))
    ends_phase = in_round or not isinstance(onward, ToRole)
    criteria = turn.role.verification if is_fresh else ()
    if ends_phase and outcome != BLOCKED:
        criteria = (*criteria, *turn.phase.criteria)
    out = leads_out(turn, order, is_round=in_round, outcome=outcome) and ends_phase
    return Wanted(
        turn=turn,
        criteria=tuple(dict.fromkeys(criteria)),
        evaluation=out or wants_evaluation(criteria),
        outcome=outcome,
        has_terms=True,
        may_be_empty=not out,
        complaints=complaints,
    )


def is_pushed_by_others(job: Job, last: Session) -> bool:
    """Whether the head is not what the last session left."""
    return bool(last.taken_sha) and last.taken_sha != job.head_sha


def outcome_of(session: Session | None) -> str:
    """The word with which a session says its phase is over."""
    report = session.report if session is not None else None
    return report.result if isinstance(report, Report) and report.result else DONE


def _unknown(outcome: str, known: Sequence[str]) -> Finding:
    return Finding(
        check=CheckName.CRITERIA,
        rule="unknown-outcome",
        message=f"It says its outcome is {outcome[:60]!r}, and the phase knows {', '.join(known)}.",
        suggestion="End with one of these.",
    )


def _complaints(
    connection: sqlite3.Connection, job: Job, turn: Turn, last: Session | None
) -> tuple[Finding, ...]:
    notes = role_notes.of_role(connection, job.id, turn.phase_name, turn.role_name)
    return tuple(
        Finding(check=CheckName.CRITERIA, rule="plan-artifact", message=note.text)
        for note in notes
        if note.kind is NoteKind.MISS and last is not None and note.source == last.id
    )


async def seen(parts: Parts, job: Job, wanted: Wanted) -> Seen:
    """What criteria look at, beside what a check session ran."""
    name, head = job.space, job.head_sha or job.base
    plan, last = await parts.database.read(
        lambda c: (plan_files.of_job(c, job.id), sessions.last_of(c, job.id, SessionKind.WORK))
    )
    made_by = await parts.database.read(lambda c: plan_files.made_by(c, job.id, last.id if last else ""))
    paths = frozenset(await parts.git.listing(name, head)) | plan.keys()
    files = files_of(wanted.criteria)
    texts = dict(
        await parts.git.read_files(
            name, head, [path for path in files if path not in plan], limit_bytes=MOST_BYTES
        )
    )
    texts |= {path: plan[path].encode()[:MOST_BYTES] for path in files if path in plan}
    return Seen(
        paths=paths,
        texts=texts,
        own=await parts.git.changes(name, job.role_base, head),
        phase=await parts.git.changes(name, job.phase_base, head),
        plan_changed=made_by,
        assignees=wanted.turn.contract.later_actors(job.phase),
    )


def over_budget(wanted: Wanted, own: Sequence[Change]) -> tuple[CriterionResult, ...]:
    """Where a role's work is larger than its budget has it."""
    budget, found = wanted.turn.budget, list[CriterionResult]()
    lines = sum(change.added + change.removed for change in own)
    for what, limit, actual in (("files", budget.diff_files, len(own)), ("lines", budget.diff_lines, lines)):
        if limit is not None:
            is_met = actual <= limit
            said = f"The role's work changes {actual} {what}; its budget has {limit}."
            found.append(CriterionResult(name=f"budget.diff_{what}: {limit}", is_met=is_met, message=said))
    return tuple(found)


def belongs_to_others(turn: Turn, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the paths outside a role's scope that another role declares as its own."""
    others = [
        rule.scope()
        for name, role in turn.contract.roles.items()
        if name != turn.role_name and (rule := role.scope) is not None and rule.patterns
    ]
    return tuple(path for path in paths if any(scope.allows(path) for scope in others))
