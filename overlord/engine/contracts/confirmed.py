"""The contract that a person confirmed: the very text that the gate showed them, whatever was proposed since."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import Job
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts.gates import EVIDENCE
from overlord.engine.runtime.parts import Parts
from overlord.errors import ContractError, StoreError
from overlord.store import decisions
from overlord.store.contracts import plan_files
from overlord.store.evidence import exhibits


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What a person said yes to."""

    decision: int
    text: str
    at: datetime


async def last(parts: Parts, job: Job) -> Confirmed:
    """The contract that was confirmed last. Raises ContractError where none was, or what was shown cannot be read any more."""
    found, kept = await parts.database.read(
        lambda c: (
            _approved(decisions.answered(c, job.id)),
            [item.sha256 for item in exhibits(c, job.id) if item.kind == EVIDENCE],
        )
    )
    if found is None:
        raise ContractError("nobody has confirmed a contract")
    text = await asyncio.to_thread(_shown, parts, kept, found.options[0])
    return Confirmed(decision=found.id, text=text, at=found.answered_at or job.updated_at)


def _approved(answered: Sequence[Decision]) -> Decision | None:
    gates = [item for item in answered if item.subject is Subject.GATE and item.verb is Verb.APPROVE]
    return gates[-1] if gates else None


def _shown(parts: Parts, kept: Sequence[str], fingerprint: str) -> str:
    """The contract that a gate with this fingerprint showed, whole."""
    for digest in reversed(kept):
        try:
            shown = json.loads(parts.evidence.get(digest))
        except StoreError as error:
            raise ContractError(f"what was confirmed cannot be read any more: {error}") from None
        if shown["fingerprint"] != fingerprint:
            continue
        text = str(shown["inputs"].get(init_job.DRAFT, ""))
        if sha256(text.encode()).hexdigest() != shown["plan"].get(init_job.DRAFT):
            raise ContractError("the contract that was confirmed holds something that is secret here")
        return text
    raise ContractError("what was confirmed is not kept any more")


async def is_changed(parts: Parts, job: Job) -> bool:
    """Whether the contract of a job of `init` is another one by now than a person confirmed; never of other jobs."""
    if await init_job.of(parts, job) is None:
        return False
    plan = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    try:
        return (await last(parts, job)).text != plan.get(init_job.DRAFT)
    except ContractError:
        return True


async def asked_path(parts: Parts, job: Job) -> str:
    """The file that a job of `init` is to bring, which its gate puts to a person whenever it is not what they confirmed; "" for others."""
    is_init = await init_job.of(parts, job) is not None
    return f"{CONTRACT_DIR}/{CONTRACT_FILES[0]}" if is_init else ""
