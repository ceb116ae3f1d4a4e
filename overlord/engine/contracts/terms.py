"""What a contract says to a session: compiled anew for each, from the contract, the plan, and what happened before."""

import sqlite3
from dataclasses import dataclass

from minion.protocol import Assignment, Brief, EarlierSession, PlanFile, Report, SessionKind, Terms
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import BLOCKED, DONE
from overlord.domain.contracts.note import NoteKind, RoleNote
from overlord.domain.contracts.turn import Turn
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts import consult
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.errors import GitFailed
from overlord.store import sessions
from overlord.store.contracts import actors, plan_files, role_notes
from overlord.store.rows import adapter

READ_FIRST = ("vision.md", "architecture.md", "VISION.md", "ARCHITECTURE.md", "AGENTS.md")
LAST_DIFF_BYTES = 40_000
MOST_EARLIER = 20
_SAID = {
    NoteKind.MISS: "What was held against an earlier attempt",
    NoteKind.ESCALATION: "Why an earlier attempt was handed up",
    NoteKind.GUIDANCE: "What the architect says",
    NoteKind.REJECTION: "What was said when the work was sent back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    plan: tuple[PlanFile, ...]
    assignments: tuple[Assignment, ...]
    notes: list[RoleNote]
    work: list[Session]


async def terms_of(parts: Parts, job: Job, turn: Turn, base: Sha, asked: Asked | None) -> Terms | None:
    """The terms of the next session of a job; None where its contract says no more than that the evaluation passes."""
    if turn.contract.keeps_misses:
        return None
    about = turn.role_name if asked is None else asked.about
    known = await parts.database.read(lambda c: _known(c, job, turn, about))
    role, phase = turn.role, turn.phase
    listing = await parts.git.listing(job.space, base)
    words = (turn.contract.guidance, role.guidance)
    own = asked is None
    special = await init_job.of(parts, job) if own else None
    lead = await lead_job.of(parts, job) if own else None
    tool = init_job.tool_in(special, turn.phase_name)
    return Terms(
        contract=turn.contract.name,
        phase=turn.phase_name,
        guidance="\n\n".join(filter(None, words)),
        outputs=role.outputs if own else (),
        criteria=(
            *_criteria(turn),
            *init_job.criteria_in(special, turn.phase_name),
            *lead_job.criteria_in(lead),
        )
        if own
        else (),
        commands=role.commands,
        tools=role.tools if own else (),
        outcomes=_outcomes(turn),
        events=tuple(turn.contract.events),
        plan=known.plan,
        plan_outputs=turn.plan_patterns if own else (),
        plan_hides_own=special is not None or lead is not None,
        inputs=phase.inputs or (),
        reads=tuple(path for path in READ_FIRST if path in listing),
        assignments=known.assignments,
        history=_history(known.work, job),
        feedback=_feedback(known.notes) if own else (),
        last_diff=await _last_diff(parts, job, known.work) if own else "",
        secret_paths=turn.contract.secret_paths,
        consultation=None if asked is None else consult.consultation(asked),
        bootstrap=tool.bootstrap if tool is not None else None,
        contract_schema=tool.schema if tool is not None else "",
    )


def _known(connection: sqlite3.Connection, job: Job, turn: Turn, about: str) -> _Known:
    """`about`: whose assignments they are; an architect is asked about another role's."""
    return _Known(
        plan=tuple(
            PlanFile(path=path, text=text) for path, text in plan_files.of_job(connection, job.id).items()
        ),
        assignments=actors.assignments(connection, job, about),
        notes=role_notes.of_role(connection, job.id, turn.phase_name, turn.role_name),
        work=[item for item in sessions.of_job(connection, job.id) if item.kind is SessionKind.WORK],
    )


def _outcomes(turn: Turn) -> tuple[str, ...]:
    """The words with which its work can be complete: where it ends the phase, those that lead on."""
    words = tuple(word for word in turn.phase.next if word != BLOCKED)
    is_last = turn.phase.actors[-1:] == (turn.role_name,)
    return words if is_last and words else tuple(dict.fromkeys((DONE, *words)))


def _criteria(turn: Turn) -> tuple[str, ...]:
    """What has to be so after this role's work and, where it is the last, after the phase."""
    is_last = turn.phase.actors[-1:] == (turn.role_name,)
    wanted = (*turn.role.verification, *(turn.phase.criteria if is_last else ()))
    budget = turn.budget
    limits = [f"budget.diff_files: {budget.diff_files}"] if budget.diff_files else []
    limits += [f"budget.diff_lines: {budget.diff_lines}"] if budget.diff_lines else []
    return tuple(dict.fromkeys((*(item.describe() for item in wanted), *limits)))


def _feedback(notes: list[RoleNote]) -> tuple[str, ...]:
    return tuple(f"{_SAID[note.kind]} ({note.source}):\n{note.text}" for note in notes if note.kind in _SAID)


def _history(work: list[Session], job: Job) -> tuple[EarlierSession, ...]:
    """What sessions of earlier phases and of other roles said they did; the present role's own attempts are told as `tried`."""
    found = []
    for session in work:
        brief = brief_of(session)
        phase = brief.terms.phase if brief.terms is not None else ""
        if isinstance(session.report, Report) and session.report.summary and not is_own(brief, job):
            found.append(EarlierSession(role=brief.role, phase=phase, summary=session.report.summary))
    return tuple(found[-MOST_EARLIER:])


def brief_of(session: Session) -> Brief:
    """What a session was told."""
    brief: Brief = adapter(Brief).validate_json(session.brief)
    return brief


def is_own(brief: Brief, job: Job) -> bool:
    """Whether a session worked in the phase and the role that the job is in now."""
    terms = brief.terms
    return (
        terms is not None
        and terms.consultation is None
        and (terms.phase, brief.role) == (job.phase, job.role)
    )


async def _last_diff(parts: Parts, job: Job, work: list[Session]) -> str:
    """What the last attempt had changed, which was taken back."""
    own = [session.taken_sha for session in work if is_own(brief_of(session), job)]
    taken = own[-1] if own else ""
    if not taken or taken == job.head_sha:
        return ""
    try:
        diff = await parts.git.diff(job.space, job.role_base, Sha(taken), limit_bytes=LAST_DIFF_BYTES)
    except GitFailed:
        return ""  # the commit is kept nowhere any more
    return parts.current.redactor.redact(diff)
