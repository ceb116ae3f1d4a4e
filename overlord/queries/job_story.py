"""A job's story: everything a card or a status line tells, read from the store in one consistent view."""

import sqlite3

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.turn import Turn
from overlord.domain.conversation.pull_card import Story
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import who_worked
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.budgets import exchanges, grants, model_outages
from overlord.store.checks import evaluations
from overlord.store.contracts import job_contracts
from overlord.store.skills import skill_uses


def story_of(connection: sqlite3.Connection, job: Job, contract: Contract) -> Story:
    """Gather a job's story. `contract` is the one of its space, for a job that has none of its own."""
    job = jobs.get(connection, job.id)
    # A call goes by its discipline: its phase is none of a contract's.
    is_call = job.call_number is not None
    turn = None if is_call else Turn.of(job_contracts.of_job(connection, job.id, lambda: contract), job)
    skills = ledger.last(connection, job.id, EventName.SKILLS_CHOSEN) or {}
    ran = tuple(sessions.of_job(connection, job.id))
    usage, calls = exchanges.job_usage(connection, job.id)
    return Story(
        job=job,
        attempts=turn.iterations if turn is not None else 1,
        evaluations=tuple(evaluations.history(connection, job)),
        sessions=ran,
        decisions=tuple(decisions.waiting(connection, job.id)),
        answered=tuple(decisions.answered(connection, job.id)),
        unanswered=tuple(decisions.expired(connection, job.id)),
        usage=usage,
        calls=calls,
        models=exchanges.models_of(connection, job.id),
        worked_by=who_worked(ran, exchanges.models_by_session(connection, job.id)),
        cost_nusd=exchanges.job_cost(connection, job.id),
        work_s=sessions.work_time_s(connection, job),
        skills=_texts(skills.get("offered")),
        skills_loaded=skill_uses.loaded_by(connection, job.id),
        skills_left_out=_texts(skills.get("left_out")),
        ledger_head=ledger.head(connection),
        trouble=_model_outage(connection, job),
        granted=grants.scope_ever_granted(connection, job.id),
        turn=_turn(turn),
    )


def _turn(turn: Turn | None) -> str:
    """Where a job is in its contract; nothing where that has one phase of one role."""
    if turn is None or (len(turn.contract.phases) == 1 and len(turn.contract.roles) == 1):
        return ""
    return f"contract {turn.contract.name}, phase {turn.phase_name}, role {turn.role_name}"


def _model_outage(connection: sqlite3.Connection, job: Job) -> str:
    session = sessions.live_of(connection, job.id)
    outage = model_outages.of_session(connection, session.id) if session is not None else None
    return outage.fault.describe(outage.model) if outage is not None else ""


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
