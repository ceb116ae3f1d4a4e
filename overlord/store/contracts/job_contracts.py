"""The contract that each job keeps, whatever becomes of it elsewhere."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from overlord.domain.contracts.contract import Contract
from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContract:
    """A row."""

    job_id: int
    source: str
    """Where it was read: `the built-in contract crew`, `.nebulus/contract/contract.yaml at 1a2b3c4`."""
    text: str
    """The contract as JSON, as version 2 writes it."""
    digest: str
    constitution: int
    """The set of rules it was checked against."""
    taken_at: datetime
    seen_at_base: str
    """The digest of what stood at the base branch when that was last looked at; what differs from it is told once."""

    @property
    def is_own(self) -> bool:
        """Whether the repository wrote it."""
        return self.source.startswith(".nebulus/")


def digest_of(contract: Contract) -> str:
    """What tells contracts apart."""
    return sha256(contract.model_dump_json().encode()).hexdigest()[:16]


def keep(
    connection: sqlite3.Connection, job_id: int, contract: Contract, source: str, *, at: datetime
) -> None:
    """A job goes by this contract from now on, unless it has one already."""
    if get(connection, job_id) is not None:
        return
    digest = digest_of(contract)
    row = JobContract(
        job_id=job_id,
        source=source,
        text=contract.model_dump_json(),
        digest=digest,
        constitution=contract.constitution,
        taken_at=at,
        seen_at_base=digest,
    )
    insert(connection, "job_contracts", {name: getattr(row, name) for name in row.__dataclass_fields__})


def get(connection: sqlite3.Connection, job_id: int) -> JobContract | None:
    """The contract a job keeps; None before its first dispatch, and for jobs of older versions."""
    found = select(connection, JobContract, "SELECT * FROM job_contracts WHERE job_id = ?", job_id)
    return found[0] if found else None


def of_job(connection: sqlite3.Connection, job_id: int, otherwise: Callable[[], Contract]) -> Contract:
    """The contract a job goes by: its own, or the one its space has now."""
    row = get(connection, job_id)
    return otherwise() if row is None else _read(row.text)


def redactions(connection: sqlite3.Connection, job_id: int) -> tuple[str, ...]:
    """The patterns of what the job's own contract takes out of evidence."""
    row = get(connection, job_id)
    return () if row is None else _read(row.text).redact


def note_seen_at_base(connection: sqlite3.Connection, job_id: int, digest: str) -> None:
    """What stands at the base branch by now was looked at."""
    connection.execute("UPDATE job_contracts SET seen_at_base = ? WHERE job_id = ?", (digest, job_id))


@lru_cache(maxsize=256)
def _read(text: str) -> Contract:
    return Contract.model_validate_json(text)
