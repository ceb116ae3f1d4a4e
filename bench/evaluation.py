"""What the judge costs beyond its own commands: from a submitted change to the verdict, less the time its commands ran.

One job after the other in an embedded world, with the runner `auto` chooses; read from the ledger, as an operator could.

    python -m bench.evaluation [jobs] [runner]
"""

import asyncio
import os
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import structlog

from bench.table import Figure, publish
from minion.protocol import CheckReport, SessionKind
from overlord.app import Overlord, overlord
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import edit, submit
from overlord.settings.load import Settings, load
from overlord.store import jobs, ledger, sessions

REPOSITORY = "bench/calc"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}
GOAL_S = 1.0
DEADLINE_S = 120.0
VERDICTS = (EventName.PASSED, EventName.REVISION_ORDERED, EventName.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One evaluation's seconds, by where they went."""

    commands_s: float
    before_s: float
    """Until the check session was started."""
    inside_s: float
    """In it, beside the commands: its start, the trees, the report."""
    after_s: float
    """From its report to the verdict, the review included."""

    @property
    def beyond_s(self) -> float:
        return self.before_s + self.inside_s + self.after_s


@asynccontextmanager
async def _world(root: Path, runner: str, count: int) -> AsyncIterator[tuple[EmbeddedForge, Settings]]:
    forge, model = EmbeddedForge(root / "forge"), EmbeddedModel()
    for _ in range(count):
        model.will(edit("calc.py", "return a - b", "return a + b"), submit("Adds now."))
    source = root / "source"
    for name, text in FILES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    async with forge.serve() as forge_url, model.serve() as model_url:
        await forge.create_repository(REPOSITORY, source=source)
        toolchain = Path(__file__).parents[1] / ".venv" / "toolchain" / "bin" / "python"
        yield (
            forge,
            load(
                {"OVERLORD_HOME": str(root / "home"), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")},
                repositories=[REPOSITORY],
                runner=runner,
                poll_s=1,
                delivery={"open_pulls": count + 1},
                forge={"api_url": forge_url, "token": forge.token},
                model={"base_url": f"{model_url}/v1", "name": "scripted", "api_key": model.key},
                process={"python": str(toolchain)},
            ),
        )
    forge.close()


async def _judged(running: Overlord, number: int) -> Job:
    """Wait until the job of an issue is judged and delivered."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            seen = running.wakeup.count
            for job in await running.parts.database.read(jobs.all_jobs):
                if job.issue.number == number and job.state in (JobState.IN_REVIEW, JobState.WAITING):
                    return job
            await running.wakeup.wait(seen, timeout_s=1.0)


def _cost(connection: sqlite3.Connection, job: Job) -> Cost:
    at = {entry.name: datetime.fromisoformat(entry.at) for entry in ledger.entries(connection, job_id=job.id)}
    session = sessions.last_of(connection, job.id, SessionKind.CHECK)
    assert session is not None and isinstance(session.report, CheckReport)
    assert session.started_at is not None and session.heartbeat_at is not None
    commands = sum(step.duration_s for step in session.report.steps)
    verdict = next(at[name] for name in VERDICTS if name in at)
    submitted, reported = at[EventName.WORK_SUBMITTED], session.heartbeat_at
    return Cost(
        commands_s=commands,
        before_s=(session.started_at - submitted).total_seconds(),
        inside_s=(reported - session.started_at).total_seconds() - commands,
        after_s=(verdict - reported).total_seconds(),
    )


async def main(count: int, runner: str) -> None:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="ev-", dir="/tmp") as directory:
        async with AsyncExitStack() as stack:
            forge, settings = await stack.enter_async_context(_world(Path(directory), runner, count))
            running = await stack.enter_async_context(overlord(settings))
            stopped = asyncio.Event()
            work = asyncio.create_task(running.run(stopped))
            costs = [await _one(running, forge, number) for number in range(count)]
            stopped.set()
            running.wakeup.notify()
            await work
            name = running.parts.runner.name
    print(f"{len(costs)} evaluations, one after the other, {name} runner")
    publish(figures(costs))


async def _one(running: Overlord, forge: EmbeddedForge, number: int) -> Cost:
    issue = await forge.open_issue(REPOSITORY, f"Adding subtracts ({number})", "`add(2, 2)` is 0.")
    await forge.label(REPOSITORY, issue, "nebulus-ready")
    job = await _judged(running, issue)
    return await running.parts.database.read(lambda c: _cost(c, job))


def figures(costs: list[Cost]) -> list[Figure]:
    """Where an evaluation's time goes, medians."""
    commands = median(cost.commands_s for cost in costs)
    rows = {
        "the check session's start": [cost.before_s for cost in costs],
        "in it, beside the commands": [cost.inside_s for cost in costs],
        "its report to the verdict": [cost.after_s for cost in costs],
        "beyond the commands": [cost.beyond_s for cost in costs],
    }
    return [
        Figure(
            part="evaluation",
            name=name,
            unit="s",
            measured=median(values),
            goal=GOAL_S if name == "beyond the commands" else None,
            yardstick="the commands themselves",
            beside=commands,
        )
        for name, values in rows.items()
    ]


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(int(given[0]) if given else 7, given[1] if len(given) > 1 else "auto"))
