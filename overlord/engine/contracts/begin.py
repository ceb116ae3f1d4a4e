"""A phase begins: its preconditions hold, and its first actor is known."""

import sqlite3

from overlord.domain.contracts.criteria.criterion import MOST_BYTES, Seen
from overlord.domain.contracts.criteria.registry import files_of, judge_all
from overlord.domain.contracts.turn import Turn
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.errors import ContractError
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.contracts import actors, plan_files


async def ensure(parts: Parts, job: Job, base: Sha) -> Job:
    """The job, with its phase begun. Raises ContractError, saying what the phase needs, where something is not there."""
    turn = await parts.turn_of(job)
    if turn.contract.keeps_misses or job.role:
        return job
    if missing := await _missing(parts, job, turn, job.head_sha or base):
        raise ContractError(f"phase {turn.phase_name} cannot begin: {'; '.join(missing)}")

    def begin(connection: sqlite3.Connection) -> Job:
        order = actors.in_order(connection, turn.contract, job, turn.phase_name)
        data: dict[str, Json] = {
            "phase": turn.phase_name,
            "roles": list(order),
            "contract": turn.contract.name,
        }
        return jobs.note(
            connection, job.id, EventName.PHASE_STARTED, at=parts.clock.now(), data=data, role=order[0]
        )

    return await parts.database.write(Failpoint.PHASE_BEGUN, begin)


async def _missing(parts: Parts, job: Job, turn: Turn, head: Sha) -> list[str]:
    """What of a phase's preconditions does not hold."""
    wanted = turn.phase.preconditions
    if not wanted:
        return []
    plan = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    files = files_of(wanted)
    texts = dict(
        await parts.git.read_files(
            job.space, head, [path for path in files if path not in plan], limit_bytes=MOST_BYTES
        )
    )
    texts |= {path: plan[path].encode()[:MOST_BYTES] for path in files if path in plan}
    paths = frozenset(await parts.git.listing(job.space, head)) | plan.keys()
    seen = Seen(paths=paths, texts=texts, assignees=turn.contract.later_actors(turn.phase_name))
    return [f"{item.name}: {item.message}" for item in judge_all(wanted, seen, {}) if not item.is_met]
