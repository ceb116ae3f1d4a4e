"""Drafts of skills: each moved along EVOLUTION with its ledger event, decided by a person and by nobody else."""

import secrets
import sqlite3
from collections.abc import Mapping
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.answers import label_of
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState, Verb
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.person import Person
from overlord.domain.skills.draft import EVOLUTION, DraftKind, DraftState, SkillDraft, ask_about_draft
from overlord.domain.skills.finding import SkillFinding
from overlord.errors import IllegalMove, NotFound
from overlord.store import decisions, ledger
from overlord.store.rows import insert, select, update

LISTED = 100
_OPEN = "state NOT IN ('deployed', 'rejected')"


def request(
    connection: sqlite3.Connection,
    *,
    space: str,
    kind: DraftKind,
    by: Person,
    at: datetime,
    name: str = "",
    reason: str = "",
    proposal_id: int | None = None,
) -> SkillDraft:
    """Have a skill drafted, in the transaction of the person's word that asks for it."""
    columns = {
        "space": space,
        "kind": kind,
        "requested_by": by.actor,
        "requested_at": at,
        "state": DraftState.DRAFTING,
        "proposal_id": proposal_id,
        "name": name,
        "reason": reason,
    }
    draft = get(connection, insert(connection, "drafts", columns))
    data: dict[str, Json] = {"space": space, "kind": kind, "name": name, "proposal": proposal_id}
    _append_draft_event(connection, EventName.DRAFT_REQUESTED, draft, at=at, actor=by.actor, data=data)
    decisions.raise_decision(connection, ask_about_draft(draft, at=at))
    return draft


def get(connection: sqlite3.Connection, number: int) -> SkillDraft:
    """Raises NotFound."""
    found = select(connection, SkillDraft, "SELECT * FROM drafts WHERE id = ?", number)
    if not found:
        raise NotFound(
            f"there is no draft d{number}", hint=hint(CommandRef("drafts"), " shows those that wait")
        )
    return found[0]


def unfinished(connection: sqlite3.Connection) -> list[SkillDraft]:
    """Those that are not done with, oldest first."""
    return select(connection, SkillDraft, f"SELECT * FROM drafts WHERE {_OPEN} ORDER BY id")  # noqa: S608


def newest(connection: sqlite3.Connection) -> list[SkillDraft]:
    """The last ones, whatever became of them; newest first."""
    query = "SELECT * FROM drafts ORDER BY id DESC LIMIT ?"
    return select(connection, SkillDraft, query, LISTED)


def waiting(connection: sqlite3.Connection) -> list[SkillDraft]:
    """Those that wait for a person's word, oldest first."""
    return select(connection, SkillDraft, "SELECT * FROM drafts WHERE state = 'waiting' ORDER BY id")


def moving(connection: sqlite3.Connection) -> list[int]:
    """Those that can be taken a step on without a person: to be written, judged, opened as an issue, or compared with base."""
    query = f"""SELECT id FROM drafts WHERE {_OPEN} AND state IN ('drafting', 'checking', 'approved', 'merged')
                ORDER BY id"""  # noqa: S608 - a constant
    return [row["id"] for row in connection.execute(query)]


def open_of(connection: sqlite3.Connection, space: str, name: str) -> SkillDraft | None:
    """The draft that is under way for a skill of this name."""
    query = f"SELECT * FROM drafts WHERE space = ? AND name = ? AND {_OPEN} AND state != 'failed'"  # noqa: S608
    return next(iter(select(connection, SkillDraft, query, space, name)), None)


def failed_of(connection: sqlite3.Connection, space: str, name: str) -> list[SkillDraft]:
    """Drafts for a skill of this name that went no further, and were not rejected."""
    query = "SELECT * FROM drafts WHERE space = ? AND name = ? AND state = 'failed' ORDER BY id"
    return select(connection, SkillDraft, query, space, name)


def of_proposal(connection: sqlite3.Connection, proposal_id: int) -> SkillDraft | None:
    """The newest draft of a proposal."""
    query = "SELECT * FROM drafts WHERE proposal_id = ? ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, SkillDraft, query, proposal_id)), None)


def worked_on(connection: sqlite3.Connection, space: str, number: int) -> SkillDraft | None:
    """The approved draft that an issue was opened for, while its sessions may write the one file."""
    query = """SELECT * FROM drafts WHERE state IN ('implementing', 'in_review') AND space = ? AND issue_number = ?"""
    return next(iter(select(connection, SkillDraft, query, space, number)), None)


def not_taken_up(connection: sqlite3.Connection) -> list[SkillDraft]:
    """Approved ones whose issue was looked at and is not worked on."""
    query = """SELECT drafts.* FROM drafts JOIN wishes ON wishes.id = wish_id
               WHERE drafts.state = 'implementing' AND wishes.state = 'refused'
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = drafts.space AND is_open
                               AND jobs.issue_number = drafts.issue_number)"""
    return select(connection, SkillDraft, query)


def write(
    connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime, name: str, path: str, text: str
) -> None:
    """There is a first text, a model's."""
    changes = {"name": name, "path": path, "text": text}
    _ask_anew(connection, _move(connection, draft, EventName.DRAFT_COMPOSED, at=at, changes=changes), at=at)


def check(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    *,
    at: datetime,
    base_text: str,
    findings: tuple[SkillFinding, ...],
) -> None:
    """It was judged beside what is at base, and waits for a person."""
    changes = {"base_text": base_text, "findings": findings}
    judged = _move(connection, draft, EventName.DRAFT_CHECKED, at=at, changes=changes)
    verbs = (Verb.APPROVE, Verb.REJECT) if judged.is_approvable else (Verb.REJECT,)
    decisions.open_again(
        connection,
        asked_about(connection, draft),
        title=judged.title,
        verbs=verbs,
        bound_to=judged.digest,
        at=at,
    )


def edit(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    *,
    by: Person,
    at: datetime,
    name: str,
    path: str,
    text: str,
) -> SkillDraft:
    """A person wrote another text. It is judged anew, and nothing that was approved of another one counts."""
    changes = {
        "name": name,
        "path": path,
        "text": text,
        "edited_by": by.actor,
        "refused": "",
        "trouble": "",
        "note": "",
        "key": "",
        "ordered_at": None,
        "issue_number": None,
        "wish_id": None,
    }
    edited = _move(connection, draft, EventName.DRAFT_EDITED, at=at, changes=changes, actor=by.actor)
    _ask_anew(connection, edited, at=at)
    return edited


def asked_about(connection: sqlite3.Connection, draft: SkillDraft) -> Decision:
    """The newest decision of a draft."""
    return decisions.meant(connection, ApprovalRef(kind=ApprovalKind.DRAFT, number=draft.id))


def _ask_anew(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """What was answered of another text does not count for this one."""
    asked = asked_about(connection, draft)
    if asked.state in (DecisionState.DRAFT, DecisionState.OPEN):
        decisions.redraft(connection, asked, bound_to=draft.digest)
    else:
        decisions.raise_decision(connection, ask_about_draft(draft, at=at))


def keep_refused(connection: sqlite3.Connection, draft: SkillDraft, *, text: str, trouble: str) -> SkillDraft:
    """A person's text that is not taken: it changes nothing, and is there to go on with."""
    update(connection, "drafts", draft.id, {"refused": text, "trouble": trouble})
    return get(connection, draft.id)


def approve(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    *,
    by: Person,
    answer: str,
    at: datetime,
    digest: str | None = None,
) -> SkillDraft:
    """A person says yes, to this text and no other. Raises Refused when it does not wait for that, or is another than was shown."""
    return _decide(connection, draft, Verb.APPROVE, by=by, answer=answer, at=at, digest=digest)


def reject(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    *,
    by: Person,
    answer: str,
    at: datetime,
    digest: str | None = None,
) -> SkillDraft:
    """A person says no. Raises Refused when it is on its way, or over, or is another than was shown."""
    return _decide(connection, draft, Verb.REJECT, by=by, answer=answer, at=at, digest=digest)


def _decide(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    verb: Verb,
    *,
    by: Person,
    answer: str,
    at: datetime,
    digest: str | None,
) -> SkillDraft:
    """Its decision takes the answer, which is carried out in the same transaction."""
    asked = asked_about(connection, draft)
    text, bound = answer or label_of(verb), digest or asked.digest
    decisions.answer(connection, asked.id, digest=bound, verb=verb, text=text, actor=by.actor, at=at, by=by)
    decisions.mark_applied(connection, asked)
    event = EventName.DRAFT_APPROVED if verb is Verb.APPROVE else EventName.DRAFT_REJECTED
    changes = {"decided_by": by.actor, "decided_at": at, "said": answer, "key": secrets.token_hex(8)}
    data: dict[str, Json] = {"digest": draft.digest}
    if answer:
        data["reason"] = answer
    return _move(connection, draft, event, at=at, changes=changes, actor=by.actor, data=data)


def order(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """Its issue is about to be opened."""
    update(connection, "drafts", draft.id, {"ordered_at": at})


def dispatch(
    connection: sqlite3.Connection, draft: SkillDraft, *, issue_number: int, at: datetime
) -> SkillDraft:
    """Its issue is there: from now on that issue's sessions may write the one file."""
    data: dict[str, Json] = {"issue": f"{draft.space}#{issue_number}"}
    changes = {"issue_number": issue_number}
    return _move(connection, draft, EventName.DRAFT_DISPATCHED, at=at, changes=changes, data=data)


def wished(connection: sqlite3.Connection, draft: SkillDraft, wish_id: int) -> None:
    """Its issue is to be worked on."""
    update(connection, "drafts", draft.id, {"wish_id": wish_id})


def remark(connection: sqlite3.Connection, draft: SkillDraft, note: str) -> None:
    """What its pull request waits for."""
    update(connection, "drafts", draft.id, {"note": note})


def deliver(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """Its pull request waits for a person."""
    _move(connection, draft, EventName.DRAFT_DELIVERED, at=at, data={"issue": _issue(draft)})


def merge(connection: sqlite3.Connection, draft: SkillDraft, *, at: datetime) -> None:
    """A person merged it: what base has is to be compared with it."""
    changes, data = {"note": ""}, {"issue": _issue(draft)}
    _move(connection, draft, EventName.DRAFT_MERGED, at=at, changes=changes, data=data)


def deploy(connection: sqlite3.Connection, draft: SkillDraft, *, note: str, at: datetime) -> None:
    """Base was looked at. `note` says what is there in its place, and is empty where it is what was approved."""
    changes, data = {"note": note}, {"note": note}
    _move(connection, draft, EventName.DRAFT_DEPLOYED, at=at, changes=changes, data=data)


def fail(connection: sqlite3.Connection, draft: SkillDraft, note: str, *, at: datetime) -> None:
    """It goes no further by itself."""
    failed = _move(
        connection, draft, EventName.DRAFT_FAILED, at=at, changes={"note": note}, data={"note": note}
    )
    _ask_anew(connection, failed, at=at)


def _issue(draft: SkillDraft) -> str:
    return f"{draft.space}#{draft.issue_number}"


def _move(
    connection: sqlite3.Connection,
    draft: SkillDraft,
    event: EventName,
    *,
    at: datetime,
    changes: Mapping[str, object] | None = None,
    actor: str = OVERLORD,
    data: Mapping[str, Json] | None = None,
) -> SkillDraft:
    """Raises IllegalMove for what is not in the table, also when somebody else moved it since it was read."""
    now = get(connection, draft.id)
    if (now.state, now.text) != (draft.state, draft.text) or (now.state, event) not in EVOLUTION:
        raise IllegalMove(f"{event} cannot happen to a draft that is {now.state}")
    update(connection, "drafts", draft.id, {**(changes or {}), "state": EVOLUTION[now.state, event]})
    moved = get(connection, draft.id)
    fields: dict[str, Json] = {"title": moved.title, "verdict": moved.verdict, **(data or {})}
    _append_draft_event(connection, event, moved, at=at, actor=actor, data=fields)
    return moved


def _append_draft_event(
    connection: sqlite3.Connection,
    name: EventName,
    draft: SkillDraft,
    *,
    at: datetime,
    data: dict[str, Json],
    actor: str = OVERLORD,
) -> None:
    event = LedgerEvent(name=name, at=at, actor=actor, data={"draft": draft.id, **data})
    ledger.append(connection, event)
