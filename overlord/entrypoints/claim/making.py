"""A claim, made of what is kept of a call."""

import sqlite3

from overlord.domain.disciplines.call import Call, CallState
from overlord.entrypoints.claim.record import FORMAT, Claim, ClaimedCall, ClaimedEvent, ClaimedFile
from overlord.errors import Refused, StoreError
from overlord.store import evidence, ledger
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceStore

KINDS = ("verification", "patch")
"""The evidence that is in a claim whole."""
MOST_EVENTS = 100_000


def claim_of(connection: sqlite3.Connection, files: EvidenceStore, ref: str) -> Claim:
    """Raises NotFound, Refused for a call without a result, StoreError where its evidence is damaged."""
    call = calls.named(connection, ref)
    if call.state is not CallState.ENDED or call.result is None or call.job_id is None:
        state = calls.ending_of(connection, call) or "has not ended"
        raise Refused(f"{call.ref} {state}: there is nothing to claim")
    kept = evidence.exhibits(connection, call.job_id)
    gone = [item for item in kept if item.kind in KINDS and item.removed_at is not None]
    if gone:
        raise Refused(f"the evidence of {call.ref} was removed, as `keep` in the settings says")
    whole = {item.sha256: item for item in kept if item.sha256 in {call.result.evidence, call.patch}}
    return Claim(
        format=FORMAT,
        call=_call(call),
        result=call.result,
        evidence=tuple(ClaimedFile.of(item.kind, files.get(item.sha256)) for item in whole.values()),
        ledger=tuple(_events(connection, call)),
        ledger_head=call.ledger_head,
        other_evidence={item.sha256: item.kind for item in kept if item.sha256 not in whole},
    )


def _call(call: Call) -> ClaimedCall:
    return ClaimedCall(
        ref=call.ref,
        discipline=call.discipline,
        space=call.space,
        session=call.session_key,
        actor=call.actor,
        arguments=dict(call.arguments),
        directory=call.directory,
        base_commit=call.base_sha,
        created_at=call.created_at,
        ended_at=call.ended_at,
    )


def _events(connection: sqlite3.Connection, call: Call) -> list[ClaimedEvent]:
    """From the request to the end; what is about other work by its hash alone."""
    assert call.job_id is not None
    first = next(ledger.entries(connection, job_id=call.job_id), None)
    if first is None:
        raise StoreError(f"the ledger has nothing of {call.ref}")
    found: list[ClaimedEvent] = []
    for entry in ledger.entries(connection, after=first.seq - 1):
        shown = entry if entry.job_id == call.job_id else None
        found.append(ClaimedEvent(seq=entry.seq, previous=entry.previous, hash=entry.hash, event=shown))
        if entry.hash == call.ledger_head or len(found) == MOST_EVENTS:
            break
    return found
