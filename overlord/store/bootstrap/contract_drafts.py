"""The best contract that a job's sessions proposed so far: the one with the fewest problems, and of equals the last."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.store.rows import select


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractDraft:
    """A row."""

    job_id: int
    text: str
    """As YAML."""
    problems: tuple[str, ...]
    """What the rules hold against it; none where it is valid."""
    proposals: int
    """How often one was proposed."""
    at: datetime


def of_job(connection: sqlite3.Connection, job_id: int) -> ContractDraft | None:
    """None before the first proposal."""
    query = "SELECT * FROM contract_drafts WHERE job_id = ?"
    return next(iter(select(connection, ContractDraft, query, job_id)), None)


def put(
    connection: sqlite3.Connection,
    job_id: int,
    text: str,
    problems: Sequence[str],
    *,
    at: datetime,
    is_best: bool | None = None,
) -> ContractDraft:
    """Count a proposal, and keep it if it is no worse than the best so far: `is_best`, or what the number of problems says.
    Returns the best."""
    known = of_job(connection, job_id)
    if is_best is None:
        is_best = known is None or len(problems) <= len(known.problems)
    kept_text = text if known is None or is_best else known.text
    kept_problems = tuple(problems) if known is None or is_best else known.problems
    connection.execute(
        "INSERT OR REPLACE INTO contract_drafts (job_id, text, problems, proposals, at) VALUES (?, ?, ?, ?, ?)",
        (
            job_id,
            kept_text,
            json.dumps(kept_problems),
            (known.proposals if known else 0) + 1,
            at.isoformat(),
        ),
    )
    found = of_job(connection, job_id)
    assert found is not None
    return found
