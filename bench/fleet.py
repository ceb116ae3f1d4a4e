"""One daemon and many machines: how fast it gives out sessions, how long a pass takes and what it holds in memory while a thousand of them
work, and whether one is lost or doubled when nodes vanish, connections are cut and programs leave without a report.

The daemon (`bench/fleet_daemon.py`) is the real one with its database, session listener, gateway and git; so are the forge and the model,
in a process of their own. The nodes and what runs on them are played here (`bench/played_fleet.py`). Everything is on loopback. A share of
the sessions comes to its end in the window that is measured, and its work goes on to its pull request; the others go on working.

    python -m bench.fleet [SESSIONS] [SECONDS]
"""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from bench.forge import Forge, forge_apart
from bench.played_fleet import Account, Fleet, Plan, job_of
from bench.table import Figure, publish
from overlord.domain.job import JobState
from overlord.home import Home
from overlord.process_limits import raise_descriptor_limit

SESSIONS, SECONDS = 1_000, 30.0
SESSIONS_OF_NODE = 10
SPACES = 20
FAULTS, ENDING, TURN_S = 0.05, 0.1, 15.0
PASS_GOAL_S, RATE_GOAL, MEMORY_GOAL_MB = 1.0, 20.0, 300.0
STARTED_IN_S, SETTLED_IN_S, STOPPED_IN_S = 400.0, 180.0, 60.0
GOES_ON = frozenset({JobState.QUEUED, JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING})
DESCRIPTORS = 16_384
"""Those of the nodes, which are all in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What one run showed."""

    sessions: int
    account: Account
    states: Mapping[str, JobState]
    """Of each job, as the database has it at the end."""
    lost: Sequence[str]
    """What should be there and is not, in words."""
    doubled: Sequence[str]
    """What was done more often than once, in words."""
    while_starting_s: Sequence[float] = field(repr=False)
    """Passes from the first session to the last."""
    while_working_s: Sequence[float] = field(repr=False)
    """Passes in the window."""
    memory_mb: float
    """The most the daemon held."""
    own_s: float
    """Processor time of the daemon from its start to the last session that began, and that of the programs it started."""
    programs_s: float

    @property
    def rate(self) -> float:
        """Sessions begun a second, from the first to the last."""
        took_s = self.account.last_at - self.account.first_at
        return (self.sessions - 1) / took_s if took_s else 0.0


async def played(
    root: Path, sessions: int, plan: Plan, *, spaces: int = SPACES, to_the_end: bool = False
) -> Played:
    """Label so many issues, have all of them worked on, and measure for the plan's window. `to_the_end`: wait until each has its pull
    request. Raises TimeoutError where sessions do not come about, or to their ends."""
    names = [f"bench/calc{number}" for number in range(spaces)]
    fleet, home, sock = Fleet(plan), Home(root / "home"), root / "nodes.sock"
    async with forge_apart(root, names) as far, fleet.serve(sock):
        await far.open_issues(sessions)
        async with _daemon(root, _settings(home, far, names, sessions, sock)) as program:
            async with asyncio.timeout(STARTED_IN_S):
                while len(fleet.account.jobs) < sessions:
                    await _look_again(program)
            own_s, programs_s = _processor_s(program.pid)
            opened_at = asyncio.get_running_loop().time()
            await fleet.open_window()
            closed_at = asyncio.get_running_loop().time()
            if to_the_end:
                try:
                    async with asyncio.timeout(SETTLED_IN_S):
                        while set(_states(home).values()) & GOES_ON:
                            await _look_again(program)
                except TimeoutError:
                    raise TimeoutError(
                        f"jobs do not come to their ends: {_open_jobs(home)}; running: {fleet.running}"
                    ) from None
            memory_mb = _peak_mb(program.pid)
        pulls, states, account = await far.pulls(), _states(home), fleet.account
    passes: list[tuple[float, float]] = json.loads((home.root / "measured.json").read_text(encoding="utf-8"))
    return Played(
        sessions=sessions,
        account=account,
        states=states,
        lost=_lost(sessions, states, account, _pulls_of(home, pulls)),
        doubled=_doubled(account, _pulls_of(home, pulls)),
        while_starting_s=[s for at, s in passes if account.first_at <= at <= account.last_at],
        while_working_s=[s for at, s in passes if opened_at <= at <= closed_at],
        memory_mb=memory_mb,
        own_s=own_s,
        programs_s=programs_s,
    )


def _settings(home: Home, far: Forge, names: Sequence[str], sessions: int, nodes: Path) -> dict[str, object]:
    return {
        "home": str(home.root),
        "nodes": str(nodes),
        "repositories": list(names),
        "runner": "process",  # what the played one stands in for
        "poll_s": 2,
        "sessions": {"concurrent": sessions},
        "delivery": {"open_pulls": sessions},
        "checks": {"review": False},
        "forge": {"api_url": far.url, "token": far.token},
        "model": {"base_url": far.model_url, "name": "scripted", "api_key": far.model_key},
        "session_listener": {"address": "127.0.0.1:0", "listen": "127.0.0.1:0"},
    }


@asynccontextmanager
async def _daemon(root: Path, settings: Mapping[str, object]) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """The daemon's process, for as long as the block runs; then it has written what it measured."""
    path = root / "settings.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    words = [sys.executable, "-m", "bench.fleet_daemon", str(path)]
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=sys.stderr)
    try:
        yield program
    finally:
        assert program.stdin is not None
        program.stdin.close()
        try:
            await asyncio.to_thread(program.wait, STOPPED_IN_S)
        finally:
            program.kill()
            program.wait()


async def _look_again(program: "subprocess.Popen[bytes]") -> None:
    if program.poll() is not None:
        raise SystemExit(f"the daemon ended with {program.returncode}")
    await asyncio.sleep(0.1)


def _states(home: Home) -> dict[str, JobState]:
    with closing(_rows(home)) as connection:
        return {f"j{row[0]}": JobState(row[1]) for row in connection.execute("SELECT id, state FROM jobs")}


def _open_jobs(home: Home) -> list[tuple[str, ...]]:
    """Each job that still goes on, with its reason and its sessions."""
    asked = (
        "SELECT 'j' || jobs.id, jobs.state, jobs.reason, group_concat(sessions.id || ' ' || sessions.state || ' ' ||"
        " sessions.ending) FROM jobs LEFT JOIN sessions ON sessions.job_id = jobs.id"
        " WHERE jobs.state NOT IN ('in_review', 'waiting') GROUP BY jobs.id"
    )
    with closing(_rows(home)) as connection:
        return connection.execute(asked).fetchall()


def _pulls_of(home: Home, pulls: Sequence[tuple[str, str]]) -> Counter[str]:
    """How many pull requests there are of each job."""
    with closing(_rows(home)) as connection:
        jobs = {
            (row[1], row[2]): f"j{row[0]}" for row in connection.execute("SELECT id, space, branch FROM jobs")
        }
    return Counter(jobs.get(pull, f"nobody's {pull}") for pull in pulls)


def _rows(home: Home) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{home.database}?mode=ro", uri=True)


def _lost(sessions: int, states: Mapping[str, JobState], account: Account, pulls: Counter[str]) -> list[str]:
    """Issues nobody took up, jobs that neither go on nor have their one pull request, sessions the nodes were never asked for."""
    found = [f"{sessions - len(states)} issues have no job"] if len(states) < sessions else []
    for job, state in states.items():
        if state is JobState.IN_REVIEW and not pulls[job]:
            found.append(f"{job} has no pull request")
        elif state not in {*GOES_ON, JobState.IN_REVIEW}:
            found.append(f"{job} is {state}")
    return [*found, *(f"{job} had no session" for job in states.keys() - account.jobs)]


def _doubled(account: Account, pulls: Counter[str]) -> list[str]:
    """Sessions begun twice, or beside another of their job, or without that one before them was lost; second pull requests."""
    found = [f"{session} was begun {often} times" for session, often in account.begun.items() if often > 1]
    found += [f"{session} was begun beside another one" for session in account.together]
    for kind in ("work", "check"):
        begun = Counter(job_of(session) for session in account.begun if f"-{kind}-" in session)
        lost = Counter(job_of(session) for session in account.lost if f"-{kind}-" in session)
        found += [
            f"{job} had {count} {kind} sessions, {lost[job]} of them lost"
            for job, count in begun.items()
            if count > lost[job] + 1
        ]
    return [*found, *(f"{job} has {count} pull requests" for job, count in pulls.items() if count > 1)]


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("\nVmHWM:")[2].split()[0]) / 1024


def _processor_s(pid: int) -> tuple[float, float]:
    """The processor time of a process so far, and that of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    used, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    ticks = os.sysconf("SC_CLK_TCK")
    return used / ticks, children / ticks


def figures(run: Played) -> list[Figure]:
    """The rows of one run."""
    count = f"{run.sessions:,} sessions"
    wrong = [
        Figure(part="fleet", name=f"{name}, {FAULTS:.0%} faults", unit="", measured=len(found), goal=0)
        for name, found in (("lost", run.lost), ("doubled", run.doubled))
    ]
    return [
        Figure(
            part="fleet", name=f"{count}: begun", unit="/s", measured=run.rate, goal=RATE_GOAL, at_least=True
        ),
        _milliseconds(f"{count}: daemon's processor time, each", run.own_s / run.sessions),
        _milliseconds(f"{count}: its programs' processor time, each", run.programs_s / run.sessions),
        _seconds(f"{count}: pass while they begin, p95", run.while_starting_s),
        _seconds(f"{count}: pass while they work, p95", run.while_working_s),
        Figure(
            part="fleet",
            name=f"{count}: memory, at most",
            unit="MB",
            measured=run.memory_mb,
            goal=MEMORY_GOAL_MB,
        ),
        *wrong,
    ]


def _seconds(name: str, passes: Sequence[float]) -> Figure:
    measured = quantiles(passes, n=20)[-1] if len(passes) > 1 else 0.0
    return Figure(part="fleet", name=name, unit="s", measured=measured, goal=PASS_GOAL_S)


def _milliseconds(name: str, measured_s: float) -> Figure:
    return Figure(part="fleet", name=name, unit="ms", measured=measured_s * 1000)


async def main(sessions: int, seconds: float) -> None:
    """Print the table, and what was wrong in words."""
    raise_descriptor_limit(DESCRIPTORS)
    nodes = max(1, sessions // SESSIONS_OF_NODE)
    plan = Plan(nodes=nodes, faults=FAULTS, turn_s=TURN_S, window_s=seconds, ending=ENDING)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir="/tmp") as name:
        run = await played(Path(name), sessions, plan)
    account, states = run.account, Counter(run.states.values())
    print(
        f"{nodes} nodes, {account.vanished} vanished; {account.cut} sessions cut off, {len(account.lost)} lost and begun again;"
        f" at the end {', '.join(f'{count} {state}' for state, count in sorted(states.items()))}",
        flush=True,
    )
    for line in (*run.lost, *run.doubled, *(f"{why} ({count}×)" for why, count in account.troubles.items())):
        print(f"  {line}", flush=True)
    publish(figures(run))


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(int(given[0]) if given else SESSIONS, float(given[1]) if given[1:] else SECONDS))
