"""The final state of a job that is over, kept once as evidence: by every ending, and without the forge.

A crash before the row is written repeats it: the same job gives the same content, and the row is written once.
"""

import asyncio
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, replace

from overlord.domain.budgets.budget import NANO
from overlord.domain.final_state import MOST_PATHS, FinalSession, FinalState
from overlord.domain.job import Job
from overlord.domain.text.json_text import json_text
from overlord.domain.text.redacting import redacting_json
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import GitFailed
from overlord.failpoints import Failpoint
from overlord.store import final_states, jobs, sessions
from overlord.store.budgets import exchanges
from overlord.store.contracts import job_contracts
from overlord.store.evidence import EvidenceFile


async def keep(parts: Parts, job: Job) -> Progress:
    """Store what a closed job was in the end."""
    state, redact = await parts.database.read(
        lambda c: (_state(c, job.id), job_contracts.redactions(c, job.id))
    )
    tree, note = await _tree(parts, job)
    state = replace(state, tree=tree, tree_note=note)
    text = parts.current.redactor.redact(json_text(asdict(state), indent=1))
    content = (await asyncio.to_thread(redacting_json, text, redact)).encode()
    evidence_file = EvidenceFile(
        job_id=job.id,
        session_id=None,
        kind=final_states.KIND,
        sha256=await asyncio.to_thread(parts.evidence.put, content),
        size=len(content),
        at=parts.clock.now(),
    )
    await parts.database.write(Failpoint.FINAL_KEPT, lambda c: final_states.keep(c, evidence_file))
    return Progress.MOVED


async def _tree(parts: Parts, job: Job) -> tuple[Mapping[str, str], str]:
    """The files of its head, and why they are not there or not all of them."""
    head = job.head_sha or job.base_sha
    if not head:
        return {}, "It ended before a commit was chosen to start from."
    try:
        listing = await parts.git.listing(job.space, head)
    except GitFailed as error:
        return {}, f"The tree of {head[:12]} could not be read any more: {error}"
    more = len(listing) - MOST_PATHS
    note = f"{more:,} more paths are left out." if more > 0 else ""
    return dict(sorted(listing.items())[:MOST_PATHS]), note


def _state(connection: sqlite3.Connection, job_id: int) -> FinalState:
    job, contract = jobs.get(connection, job_id), job_contracts.get(connection, job_id)
    usage, _ = exchanges.job_usage(connection, job_id)
    cost = exchanges.job_cost(connection, job_id)
    return FinalState(
        job=job.id,
        issue=job.issue_ref,
        title=job.issue.title,
        state=job.state,
        reason=job.reason,
        ended_at=job.updated_at.isoformat(),
        contract=job.contract,
        contract_source=contract.source if contract is not None else "",
        contract_digest=contract.digest if contract is not None else "",
        phase=job.phase,
        role=job.role,
        branch=job.branch,
        base=job.base_sha or "",
        head=job.head_sha or "",
        pull=job.pull_number,
        sessions=tuple(
            FinalSession(
                id=item.id,
                kind=item.kind,
                role=item.role,
                ending=item.ending,
                commit=item.taken_sha,
            )
            for item in sessions.of_job(connection, job_id)
        ),
        cost_usd=None if cost is None else cost / NANO,
        tokens=usage.prompt + usage.completion,
        open_gates=final_states.waited(connection, job.id),
    )
