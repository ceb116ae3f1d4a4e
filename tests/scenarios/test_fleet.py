"""Many machines under faults, played by the bench that measures them (`bench/fleet.py`), in small."""

import tempfile
from pathlib import Path

from bench.fleet import played
from bench.played_fleet import Plan
from overlord.domain.job import JobState

SESSIONS = 30


async def test_nothing_is_lost_or_doubled_when_nodes_vanish_connections_are_cut_and_programs_leave() -> None:
    plan = Plan(nodes=5, faults=0.1, turn_s=0.5, window_s=4, ending=1.0)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir="/tmp") as root:
        run = await played(Path(root), SESSIONS, plan, spaces=3, to_the_end=True)
    assert (run.lost, run.doubled, run.account.troubles, run.account.late) == ([], [], {}, {})
    assert list(run.states.values()) == [JobState.IN_REVIEW] * SESSIONS
    assert run.account.vanished and run.account.cut and run.account.lost, "something went wrong on the way"
