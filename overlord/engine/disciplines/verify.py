"""A call's result is verified: what the worker said is read, what has to be run is run in a check session, and code says what holds."""

import sqlite3

from minion.protocol import Report, SessionKind
from overlord.domain.disciplines.call import Call, CallStatus, Verification
from overlord.domain.job import Job
from overlord.engine.disciplines import answer
from overlord.engine.disciplines.answer import Worked
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.store import sessions


async def step(parts: Parts, job: Job, call: Call) -> Progress:
    """Take the verification of a call one step further."""
    work = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
    report = work.report if work is not None else None
    return await answer.end(
        parts,
        job,
        call,
        Worked(
            status=CallStatus.PASS,
            message=str(report.answer if isinstance(report, Report) else ""),
            verification=Verification(verified=False, why="to come"),
        ),
    )


_ = sqlite3
