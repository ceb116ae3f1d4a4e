"""Operators' programs that observe are told of each fact once, in order, also over a restart."""

import json
from pathlib import Path
from typing import Any

from overlord.domain.event import EventName
from overlord.engine.hooks import observe
from overlord.engine.runtime.progress import Progress
from overlord.store import evidence, hooks, jobs
from overlord.store.evidence import EvidenceFile
from tests.engine.stage import Stage, made_stage
from tests.world import REPO

LISTED: dict[str, Any] = {
    "command": ["sh", "-c", 'cat >> "told-$OVERLORD_HOOK"; echo >> "told-$OVERLORD_HOOK"']
}


def told(stage: Stage, hook: str) -> list[dict[str, Any]]:
    file = Path(stage.parts.home.hooks, f"told-{hook}")
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def caught_up(stage: Stage) -> None:
    while await observe.step(stage.parts) is Progress.MOVED:
        continue


async def noted(stage: Stage, event: EventName, **data: Any) -> None:
    await stage.write(jobs.note, 1, event, at=stage.parts.clock.now(), data=data)


async def filed(stage: Stage, content: bytes) -> EvidenceFile:
    digest = stage.parts.evidence.put(content)
    file = EvidenceFile(
        job_id=1,
        session_id="j1-work-1",
        kind="log",
        sha256=digest,
        size=len(content),
        at=stage.parts.clock.now(),
    )
    await stage.write(evidence.record, file)
    return file


async def test_each_fact_is_told_once_from_when_somebody_observes() -> None:
    async with made_stage(hooks={"phase": [LISTED], "gate": [LISTED], "evidence": [LISTED]}) as stage:
        await stage.claimed()
        await noted(stage, EventName.PHASE_STARTED, phase="plan", roles=["architect"])
        await caught_up(stage)
        assert told(stage, "phase") == [], "nobody is told of what was before"
        assert not await stage.read(observe.is_due, stage.parts)
        await noted(stage, EventName.ROLE_COMPLETED, role="architect", session="j1-work-1")
        await noted(stage, EventName.GATE_REACHED, gate="plan_approval")
        await noted(stage, EventName.GATE_REJECTED, gate="plan_approval", notes="smaller")
        file = await filed(stage, b"a log")
        assert await stage.read(observe.is_due, stage.parts)
        await caught_up(stage)
        assert [item["event"] for item in told(stage, "phase")] == ["role_completed", "gate_rejected"]
        assert [item["event"] for item in told(stage, "gate")] == ["gate_reached", "gate_rejected"]
        first, rejected = told(stage, "phase")
        assert (first["space"], first["job"], first["session"]) == (REPO, 1, "j1-work-1")
        assert rejected["data"]["notes"] == "smaller"
        [recorded] = told(stage, "evidence")
        assert (recorded["event"], recorded["session"]) == ("evidence_recorded", "j1-work-1")
        assert recorded["data"]["sha256"] == file.sha256
        assert Path(recorded["data"]["path"]).read_bytes() == b"a log"
        await caught_up(stage)
        assert len(told(stage, "gate")) == 2, "and never again"


async def test_programs_of_one_repository_are_told_of_it_alone() -> None:
    spaces = {REPO: {"hooks": {"phase": [LISTED]}}, "acme/web": {"hooks": {"gate": [LISTED]}}}
    async with made_stage(spaces=spaces) as stage:
        await stage.claimed()
        await caught_up(stage)
        await noted(stage, EventName.GATE_REJECTED, gate="plan_approval")
        await caught_up(stage)
        assert len(told(stage, "phase")) == 1
        assert told(stage, "gate") == []


async def test_a_program_that_fails_is_no_fact_and_holds_up_nothing() -> None:
    broken = {"command": ["sh", "-c", "exit 1"]}
    async with made_stage(hooks={"phase": [broken, LISTED]}) as stage:
        await stage.claimed()
        await caught_up(stage)
        before = await stage.events()
        await noted(stage, EventName.PHASE_COMPLETED, phase="plan")
        await caught_up(stage)
        assert len(told(stage, "phase")) == 1
        assert await stage.events() == [*before, "phase_completed"]


async def test_who_observes_no_more_is_forgotten() -> None:
    async with made_stage() as stage:
        assert not await stage.read(observe.is_due, stage.parts)
        await stage.write(hooks.put_position, "ledger", 1)
        assert await stage.read(observe.is_due, stage.parts)
        await caught_up(stage)
        assert await stage.read(hooks.positions) == {}
