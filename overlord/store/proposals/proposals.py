"""Proposals: raised once for each pattern, decided once by a person and by nobody else, and followed until their work is merged."""

import secrets
import sqlite3
from dataclasses import replace
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.answers import label_of
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, Verb
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.person import Person
from overlord.domain.proposals.proposal import (
    SKILL_TYPES,
    TRANSITIONS,
    EnhancementProposal,
    ProposalStatus,
    ask_about_proposal,
)
from overlord.errors import IllegalMove, NotFound
from overlord.store import decisions, ledger
from overlord.store.rows import insert, select, update

LISTED = 100
_OPEN = "proposals.status IN ('pending', 'approved')"


def raise_proposal(connection: sqlite3.Connection, proposal: EnhancementProposal) -> EnhancementProposal:
    """Put an enhancement to people, in the transaction of what made it due."""
    columns = {name: getattr(proposal, name) for name in proposal.__dataclass_fields__ if name != "id"}
    raised = replace(proposal, id=insert(connection, "proposals", columns))
    data: dict[str, Json] = {
        "space": raised.space,
        "type": raised.type,
        "trigger": raised.trigger,
        "title": raised.title,
        "weight": raised.weight,
        "issues": list(raised.issues),
        "digest": raised.digest,
    }
    _append_proposal_event(connection, EventName.PROPOSAL_RAISED, raised, at=raised.created_at, data=data)
    decisions.raise_decision(connection, ask_about_proposal(raised, at=raised.created_at))
    return raised


def get(connection: sqlite3.Connection, number: int) -> EnhancementProposal:
    """Raises NotFound."""
    found = select(connection, EnhancementProposal, "SELECT * FROM proposals WHERE id = ?", number)
    if not found:
        raise NotFound(
            f"there is no proposal p{number}", hint=hint(CommandRef("proposals"), " shows those that wait")
        )
    return found[0]


def unfinished(connection: sqlite3.Connection) -> list[EnhancementProposal]:
    """Those that wait for a person, and those that were approved and are not done; oldest first."""
    return select(connection, EnhancementProposal, f"SELECT * FROM proposals WHERE {_OPEN} ORDER BY id")  # noqa: S608


def newest(connection: sqlite3.Connection) -> list[EnhancementProposal]:
    """The last ones, whatever became of them; newest first."""
    query = "SELECT * FROM proposals ORDER BY id DESC LIMIT ?"
    return select(connection, EnhancementProposal, query, LISTED)


def raised_since(connection: sqlite3.Connection, at: datetime) -> list[EnhancementProposal]:
    """Those that were raised at a moment or later and wait for a person, oldest first."""
    query = "SELECT * FROM proposals WHERE status = 'pending' AND created_at >= ? ORDER BY id"
    return select(connection, EnhancementProposal, query, at.isoformat())


def open_of(connection: sqlite3.Connection, space: str, fingerprint: str) -> EnhancementProposal | None:
    """The open one of a pattern."""
    query = f"SELECT * FROM proposals WHERE space = ? AND fingerprint = ? AND {_OPEN}"  # noqa: S608
    return next(iter(select(connection, EnhancementProposal, query, space, fingerprint)), None)


def decided_last(connection: sqlite3.Connection, space: str, fingerprint: str) -> EnhancementProposal | None:
    """The last one of a pattern that is over: rejected, or implemented."""
    query = f"""SELECT * FROM proposals WHERE space = ? AND fingerprint = ? AND NOT {_OPEN}
                ORDER BY id DESC LIMIT 1"""  # noqa: S608
    return next(iter(select(connection, EnhancementProposal, query, space, fingerprint)), None)


def pending_in(connection: sqlite3.Connection, space: str) -> int:
    """How many of a space wait for a person."""
    query = "SELECT count(*) FROM proposals WHERE status = 'pending' AND space = ?"
    return int(connection.execute(query, (space,)).fetchone()[0])


def of_issue(connection: sqlite3.Connection, space: str, number: int) -> EnhancementProposal | None:
    """The approved one that an issue was opened for."""
    query = "SELECT * FROM proposals WHERE status = 'approved' AND space = ? AND issue_number = ?"
    return next(iter(select(connection, EnhancementProposal, query, space, number)), None)


def to_dispatch(connection: sqlite3.Connection) -> list[int]:
    """Approved ones without an issue, that do not rest; of a skill's the draft becomes an issue."""
    query = f"""SELECT id, type FROM proposals WHERE {_OPEN} AND status = 'approved' AND issue_number IS NULL
                AND note = '' ORDER BY id"""  # noqa: S608 - constants
    return [row["id"] for row in connection.execute(query) if row["type"] not in SKILL_TYPES]


def not_taken_up(connection: sqlite3.Connection) -> list[EnhancementProposal]:
    """Approved ones whose issue was looked at and not taken up, and nobody was told."""
    query = f"""SELECT proposals.* FROM proposals JOIN wishes ON wishes.id = wish_id
                WHERE {_OPEN} AND note = '' AND wishes.state = 'refused'"""  # noqa: S608
    return select(connection, EnhancementProposal, query)


def weigh(connection: sqlite3.Connection, proposal: EnhancementProposal, **evidence: object) -> None:
    """There is more evidence for an open one."""
    update(connection, "proposals", proposal.id, evidence)


def approve(
    connection: sqlite3.Connection,
    proposal: EnhancementProposal,
    *,
    by: Person,
    reason: str,
    at: datetime,
    digest: str | None = None,
) -> EnhancementProposal:
    """A person says yes; one that rests is taken up again. Raises Refused when it was decided before, or is another one than was
    shown."""
    _answer(connection, proposal, Verb.APPROVE, by=by, reason=reason, at=at, digest=digest)
    if proposal.rests:
        update(connection, "proposals", proposal.id, {"note": "", "wish_id": None})
        return get(connection, proposal.id)
    return _decide(connection, proposal, EventName.PROPOSAL_APPROVED, by=by, reason=reason, at=at)


def reject(
    connection: sqlite3.Connection,
    proposal: EnhancementProposal,
    *,
    by: Person,
    reason: str,
    at: datetime,
    digest: str | None = None,
) -> EnhancementProposal:
    """A person says no. Raises Refused when it was decided before, or is another one than was shown."""
    _answer(connection, proposal, Verb.REJECT, by=by, reason=reason, at=at, digest=digest)
    return _decide(connection, proposal, EventName.PROPOSAL_REJECTED, by=by, reason=reason, at=at)


def _answer(
    connection: sqlite3.Connection,
    proposal: EnhancementProposal,
    verb: Verb,
    *,
    by: Person,
    reason: str,
    at: datetime,
    digest: str | None,
) -> None:
    """Its decision takes the answer, which is carried out in the same transaction."""
    asked = _asked(connection, proposal)
    text, bound = reason or label_of(verb), digest or asked.digest
    decisions.answer(connection, asked.id, digest=bound, verb=verb, text=text, actor=by.actor, at=at, by=by)
    decisions.mark_applied(connection, asked)


def _asked(connection: sqlite3.Connection, proposal: EnhancementProposal) -> Decision:
    return decisions.meant(connection, ApprovalRef(kind=ApprovalKind.PROPOSAL, number=proposal.id))


def _decide(
    connection: sqlite3.Connection,
    proposal: EnhancementProposal,
    event: EventName,
    *,
    by: Person,
    reason: str,
    at: datetime,
) -> EnhancementProposal:
    changes = {
        "status": _moved(proposal, event),
        "decided_by": by.actor,
        "decided_at": at,
        "reason": reason,
        "key": secrets.token_hex(8),
    }
    update(connection, "proposals", proposal.id, changes)
    data: dict[str, Json] = {"digest": proposal.digest}
    if reason:
        data["reason"] = reason
    _append_proposal_event(connection, event, proposal, at=at, actor=by.actor, data=data)
    return get(connection, proposal.id)


def take_up_again(connection: sqlite3.Connection, proposal: EnhancementProposal, *, at: datetime) -> None:
    """An approved one does not rest any more: another fact than an answer says so."""
    update(connection, "proposals", proposal.id, {"note": "", "wish_id": None})
    decisions.supersede(connection, _asked(connection, proposal), at=at)


def order(connection: sqlite3.Connection, proposal: EnhancementProposal, *, at: datetime) -> None:
    """Its issue is about to be opened."""
    update(connection, "proposals", proposal.id, {"ordered_at": at})


def dispatched(
    connection: sqlite3.Connection, proposal: EnhancementProposal, *, issue_number: int, at: datetime
) -> EnhancementProposal:
    """Its issue is there."""
    update(connection, "proposals", proposal.id, {"issue_number": issue_number})
    data: dict[str, Json] = {"issue": f"{proposal.space}#{issue_number}"}
    _append_proposal_event(connection, EventName.PROPOSAL_DISPATCHED, proposal, at=at, data=data)
    return get(connection, proposal.id)


def wished(connection: sqlite3.Connection, proposal: EnhancementProposal, wish_id: int) -> None:
    """Its issue is to be worked on."""
    update(connection, "proposals", proposal.id, {"wish_id": wish_id})


def rest(connection: sqlite3.Connection, proposal: EnhancementProposal, note: str, *, at: datetime) -> None:
    """It stays approved, and nothing more is done for it until a person says so."""
    update(connection, "proposals", proposal.id, {"note": note})
    _append_proposal_event(connection, EventName.PROPOSAL_RESTED, proposal, at=at, data={"note": note})
    decisions.supersede(connection, _asked(connection, proposal), at=at)
    decisions.raise_decision(connection, ask_about_proposal(get(connection, proposal.id), at=at))


def implemented(
    connection: sqlite3.Connection, proposal: EnhancementProposal, *, issue: str, at: datetime
) -> None:
    """The work on its issue was merged."""
    event = EventName.PROPOSAL_IMPLEMENTED
    update(connection, "proposals", proposal.id, {"status": _moved(proposal, event), "note": ""})
    decisions.supersede(connection, _asked(connection, proposal), at=at)
    _append_proposal_event(connection, event, proposal, at=at, data={"issue": issue})


def _moved(proposal: EnhancementProposal, event: EventName) -> ProposalStatus:
    """Raises IllegalMove for what is not in the table."""
    try:
        return TRANSITIONS[proposal.status, event]
    except KeyError:
        raise IllegalMove(f"{event} cannot happen to a proposal that is {proposal.status}") from None


def _append_proposal_event(
    connection: sqlite3.Connection,
    name: EventName,
    proposal: EnhancementProposal,
    *,
    at: datetime,
    data: dict[str, Json],
    actor: str = OVERLORD,
) -> None:
    event = LedgerEvent(name=name, at=at, actor=actor, data={"proposal": proposal.id, **data})
    ledger.append(connection, event)
