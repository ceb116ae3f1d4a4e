"""What a claim says, checked from the claim alone: its files by their digests, its result by its evidence, its events by their hashes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from overlord.domain.event import EventName
from overlord.domain.text.plain import count
from overlord.entrypoints.claim.record import Claim, ClaimedFile
from overlord.store.ledger import Entry

_TO_COMPARE = "Whoever made the claim could have made these too: compare the head with the one that the ledger's owner gives you:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One thing that was looked at."""

    claim: str
    """The call's handle."""
    holds: bool
    text: str
    """A sentence."""


def checked(claim: Claim) -> Iterator[Checked]:
    """All that can be told without a repository."""
    yield from _said(claim, _evidence(claim))
    yield from _said(claim, _result(claim))
    yield from _said(claim, _ledger(claim))


def _said(claim: Claim, told: Iterator[tuple[bool, str]]) -> Iterator[Checked]:
    for holds, text in told:
        yield Checked(claim=claim.call.ref, holds=holds, text=text)


def _evidence(claim: Claim) -> Iterator[tuple[bool, str]]:
    wrong = [item for item in claim.evidence if not _is_whole(item)]
    for item in wrong:
        yield False, f"The {item.kind} is not what its digest {item.sha256[:16]} says."
    if not wrong:
        yield True, f"{count(len(claim.evidence), 'file')} of evidence, each as its digest says."


def _is_whole(item: ClaimedFile) -> bool:
    try:
        return sha256(item.data).hexdigest() == item.sha256
    except ValueError:
        return False


def _result(claim: Claim) -> Iterator[tuple[bool, str]]:
    """The result says what the evidence says, and the evidence is the one that the result names."""
    found, result = claim.file("verification"), claim.result
    if found is None or found.sha256 != result.evidence:
        yield False, "The evidence that the result names is not in the claim."
        return
    said = claim.verification
    verification = said.get("verification")
    verification = verification if isinstance(verification, dict) else {}
    pairs = (
        ("call", said.get("call"), claim.call.ref),
        ("discipline", said.get("discipline"), claim.call.discipline),
        ("repository", said.get("space"), claim.call.space),
        ("arguments", said.get("arguments"), dict(claim.call.arguments)),
        ("base tree", said.get("base_tree"), result.base_tree),
        ("head tree", said.get("head_tree"), result.head_tree),
        ("finding", verification.get("verified"), result.verified),
        ("reason", verification.get("why"), result.why),
    )
    differ = [name for name, one, other in pairs if one != other]
    if differ:
        yield False, f"Result and evidence say different things: {', '.join(differ)}."
    elif not result.verified:
        yield False, f"It was not verified: {result.why}"
    else:
        yield True, f"Result and evidence agree that it is verified: {result.why}"


def _ledger(claim: Claim) -> Iterator[tuple[bool, str]]:
    """Each event follows the one before it, the last says how the call ended, and its hash is the head."""
    events = claim.ledger
    for index, item in enumerate(events):
        entry = item.event
        if entry is not None and (
            entry.computed_hash() != item.hash or (entry.seq, entry.previous) != (item.seq, item.previous)
        ):
            yield False, f"Event {item.seq} of the ledger was changed."
            return
        if index and (item.previous, item.seq) != (events[index - 1].hash, events[index - 1].seq + 1):
            yield False, f"Event {item.seq} of the ledger does not follow the one before it."
            return
    wrong = _ends(claim)
    if wrong:
        yield False, wrong
        return
    sealed = sum(item.event is None for item in events)
    others = f"; {sealed} between are of other work, and are in it by their hashes alone" if sealed else ""
    yield (
        True,
        f"{count(len(events), 'event')} of the ledger, chained{others}. {_TO_COMPARE} {claim.ledger_head}.",
    )


def _ends(claim: Claim) -> str:
    """Why the events are not those of this call; empty where they are."""
    first, last = (claim.ledger[0].event, claim.ledger[-1].event) if claim.ledger else (None, None)
    if first is None or last is None:
        return "The ledger of the call is not in the claim."
    if (first.name, last.name) != (EventName.CALL_REQUESTED, EventName.CALL_ENDED):
        return "The ledger does not begin with the call and end with its result."
    if claim.ledger[-1].hash != claim.ledger_head:
        return "The ledger's head is not the event that says how the call ended."
    result, patch = claim.result, claim.file("patch")
    wanted = {
        "call": claim.call.ref,
        "discipline": claim.call.discipline,
        "status": result.status,
        "verified": result.verified,
        "evidence": result.evidence,
        "patch": patch.sha256 if patch is not None else "",
        "base_tree": result.base_tree,
        "head_tree": result.head_tree,
    }
    try:
        data = last.details
        differ = [name for name, value in wanted.items() if data.get(name) != value]
        asked = _asked(claim, first)
        differ += [name for name, (one, other) in asked.items() if one != other]
    except (ValueError, AttributeError):
        return "An event of the ledger has no data."
    return f"The ledger says something else of the call: {', '.join(differ)}." if differ else ""


def _asked(claim: Claim, first: Entry) -> Mapping[str, tuple[object, object]]:
    """What a claim says of who asked for what, and what the ledger says of it. Raises ValueError, AttributeError."""
    call, data = claim.call, first.details
    return {
        "call": (call.ref, data.get("call")),
        "discipline": (call.discipline, data.get("discipline")),
        "repository": (call.space, data.get("space")),
        "who asked": (call.actor, first.actor),
        "session": (call.session, data.get("session")),
        "commit that it began on": (call.base_commit, data.get("base") or call.base_commit),
    }
