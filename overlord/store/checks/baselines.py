"""Baselines: how the checks of a base commit came out, made once per commit and plan of commands."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from minion.protocol import CheckStep, StepResult
from overlord.store.rows import adapter


def plan_of(step: CheckStep, layer: str = "") -> str:
    """What tells one way of checking a commit from another: the command, what it reads, the environment it runs in."""
    return sha256(json.dumps([step.name, step.command, step.restore, layer]).encode()).hexdigest()[:16]


def get(connection: sqlite3.Connection, space: str, base_sha: str, plan: str) -> StepResult | None:
    """A base commit's result, if it was ever made."""
    query = "SELECT result FROM baselines WHERE space = ? AND base_sha = ? AND plan = ?"
    row = connection.execute(query, (space, base_sha, plan)).fetchone()
    if row is None:
        return None
    result: StepResult = adapter(StepResult).validate_json(row["result"])
    return result


def put(
    connection: sqlite3.Connection, space: str, base_sha: str, plan: str, result: StepResult, *, at: datetime
) -> None:
    """Keep a base commit's result; the first one stays."""
    connection.execute(
        "INSERT OR IGNORE INTO baselines (space, base_sha, plan, result, at) VALUES (?,?,?,?,?)",
        (space, base_sha, plan, adapter(StepResult).dump_json(result).decode(), at.isoformat()),
    )


def missing(
    connection: sqlite3.Connection, space: str, base_sha: str, steps: Sequence[CheckStep]
) -> list[CheckStep]:
    """Those of the base's steps whose result is not known yet."""
    return [step for step in steps if get(connection, space, base_sha, plan_of(step)) is None]
