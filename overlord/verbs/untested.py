"""What a person says about a repository without tests, remembered for it and taken back; as in `verbs/commands.py`, facts in one
transaction."""

import sqlite3
from datetime import datetime

from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.decision import Decision, Verb
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.errors import Refused
from overlord.store import jobs, ledger
from overlord.store.spaces import untested_policies


def remember(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """An answered decision says how work is judged from now on in its job's repository."""
    assert decision.job_id is not None, "it was asked for a job"
    policy = UntestedPolicy(
        space=jobs.get(connection, decision.job_id).space,
        choice=decision.verb or Verb.WRITE_TESTS,
        decided_by=decision.answered_by,
        decided_at=at,
    )
    untested_policies.put(connection, policy)
    data: dict[str, Json] = {
        "space": policy.space,
        "choice": policy.choice,
        "decision": decision.id,
    }
    ledger.append(
        connection,
        LedgerEvent(name=EventName.TESTS_POLICY_CHOSEN, at=at, actor=policy.decided_by, data=data),
    )


def ask_again(connection: sqlite3.Connection, space: str, *, actor: str, at: datetime) -> UntestedPolicy:
    """Take back what was said about a repository (as the settings spell it) without tests: the next job asks anew. Returns what
    counted so far. Raises Refused where nothing was said."""
    policy = untested_policies.of(connection, space)
    if policy is None:
        raise Refused(f"nothing was said about missing tests in {space}, so there is nothing to take back")
    end(connection, policy, actor=actor, reason="it was taken back", at=at)
    return policy


def end(
    connection: sqlite3.Connection,
    policy: UntestedPolicy,
    *,
    reason: str,
    at: datetime,
    actor: str = OVERLORD,
) -> None:
    """It counts no more."""
    untested_policies.remove(connection, policy.space)
    data: dict[str, Json] = {"space": policy.space, "choice": policy.choice, "reason": reason}
    ledger.append(connection, LedgerEvent(name=EventName.TESTS_POLICY_ENDED, at=at, actor=actor, data=data))
