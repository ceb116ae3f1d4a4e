"""A job that another agent works on: the daemon is killed where such a session comes by, and loses nothing; so is the program itself.

The Minion is the real one, and drives a program that plays Aider; what is judged is played.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.job import JobState
from overlord.failpoints import Failpoint, Moment
from overlord.store import sessions
from overlord.store.database import open_reader
from tests.faults.campaign import Campaign, under_fire
from tests.faults.cut import Cut
from tests.faults.player import played
from tests.quick import interpreter
from tests.world import CALC, DEADLINE_S, FIX

pytestmark = pytest.mark.timeout(1200)
P = Failpoint
WHERE = (P.WORK_PREPARED, P.START_SESSION, P.WORK_STARTED, P.REPORT_TAKEN, P.WORK_SETTLED)
DONE = 'OVERLORD_EVENT {"type":"PHASE_COMPLETE","summary":"add() adds."}'
SAVED = CALC["calc.py"].replace(*FIX[1:])


def _program(root: Path, *, first: str = "") -> dict[str, Any]:
    """Settings with a program that writes the fix, and does something else the first time."""
    script, begun, fixed = root / "plays-aider", root / "begun", root / "fixed.py"
    fixed.write_text(SAVED)
    done = [f"cp {shlex.quote(str(fixed))} calc.py", f"printf '%s\\n' {shlex.quote(DONE)}"]
    once = [f"if [ ! -e {begun} ]; then", f"  touch {begun}", f"  {first}", "fi"] if first else []
    script.write_text("\n".join(["#!/bin/sh", "cat > /dev/null", *once, *done, ""]))
    script.chmod(0o755)
    process = {"python": played(root, patience_s=DEADLINE_S, others=interpreter())}
    return {"agent": "aider", "agents": {"aider": {"command": [str(script)]}}, "process": process}


def _agents(told: Campaign) -> list[str]:
    with open_reader(told.place.home / "overlord.db") as connection:
        return [
            sessions.get(connection, row["id"]).agent
            for row in connection.execute("SELECT id FROM sessions WHERE kind = 'work' ORDER BY rowid")
        ]


@pytest.mark.parametrize("moment", Moment)
async def test_a_daemon_killed_while_another_agent_works_loses_nothing(moment: Moment) -> None:
    async with under_fire() as told:
        told.world.overrides |= _program(told.world.root)
        told.cuts = [Cut(point=point, moment=moment) for point in WHERE]
        issue = await told.issue("plain")
        await told.settle()
        assert told.cuts == []
        job = told.expect(issue, JobState.IN_REVIEW)
        assert (job.revision, set(_agents(told))) == (0, {"aider"})
        await told.check()


async def test_a_program_that_is_killed_takes_no_work_with_it() -> None:
    async with under_fire() as told:
        told.world.overrides |= _program(told.world.root, first="kill -9 $$")
        issue = await told.issue("plain")
        await told.settle()
        told.expect(issue, JobState.WAITING)
        [decision] = told.waiting()
        await told.command("decisions", "answer", str(decision), "retry", done=(0, 5))
        await told.settle()
        told.expect(issue, JobState.IN_REVIEW)
        assert _agents(told) == ["aider", "aider"]
        await told.check()
