"""Gates of a contract: what each shows is collected and kept, and what was approved once is not asked again while it is unchanged."""

import asyncio
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from minion.protocol import Scope, ScopeError
from overlord.domain.bootstrap.proposal import review_text
from overlord.domain.bootstrap.summary import changes_between, summary
from overlord.domain.contracts.contract import Gate, is_plan
from overlord.domain.contracts.onward import ToGate
from overlord.domain.decision import Audience, Decision, Subject, Verb
from overlord.domain.job import Job
from overlord.domain.question import ask
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import code_block, count, defused_line
from overlord.domain.text.redacting import redacting, redacting_json
from overlord.engine.bootstrap import init_job
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions
from overlord.store.contracts import plan_files
from overlord.store.evidence import EvidenceFile, record

EVIDENCE = "gate"
"""The kind of evidence that holds what a gate showed."""
MOST_INPUTS = 30
MOST_BYTES = 100_000
SHOWN_CHARS = 3_000
SHOWN_FILES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """What a gate shows at one moment."""

    name: str
    gate: Gate
    fingerprint: str
    """Of the gate, its inputs, the plan and the work: another one means that something changed."""
    body: str
    evidence: EvidenceFile
    title: str = ""
    """What people are asked, where the gate is worded by what it shows."""
    blocks: str = ""
    """What waits for its answer, there."""

    @property
    def options(self) -> tuple[str, ...]:
        """What an answer to it rests on."""
        return (self.fingerprint, self.name, self.gate.on, self.gate.approve or "", self.gate.reject or "")


async def look(parts: Parts, job: Job, onward: ToGate) -> GateView:
    """Collect what a gate shows, and store it."""
    name, gate, head = onward.name, onward.gate, job.head_sha or job.base
    plan = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    inputs = await _inputs(parts, job, gate, plan)
    changes = await parts.git.changes(job.space, job.base, head)
    shown = {
        "gate": name,
        "contract_gate": gate.model_dump(mode="json"),
        "inputs": inputs,
        "plan": {path: sha256(text.encode()).hexdigest() for path, text in plan.items()},
        "tree": await parts.git.tree_of(job.space, head),
    }
    told = ""
    if init_job.DRAFT in inputs and await init_job.of(parts, job) is not None:
        listing = await parts.git.listing(job.space, head)
        text = await init_job.shown_contract(parts, job, plan)
        told = await asyncio.to_thread(_contract_told, text, plan, frozenset(listing))
    fingerprint = sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]
    kept = json.dumps(
        {**shown, "fingerprint": fingerprint, "changes": [change.path for change in changes]}, indent=1
    )
    redact = (await parts.turn_of(job)).contract.redact
    kept = await asyncio.to_thread(redacting_json, parts.current.redactor.redact(kept), redact)
    content = kept.encode()
    digest = await asyncio.to_thread(parts.evidence.put, content)
    evidence = EvidenceFile(
        job_id=job.id, session_id=None, kind=EVIDENCE, sha256=digest, size=len(content), at=parts.clock.now()
    )
    lead = await parts.database.read(lambda c: lead_job.shown(c, job))
    body = lead.body if lead is not None else _body(name, gate, inputs, changes, told)
    body = await asyncio.to_thread(redacting, parts.current.redactor.redact(body), redact)
    title = parts.current.redactor.redact(lead.title) if lead is not None else ""
    blocks = lead.blocks if lead is not None else ""
    found = GateView(name=name, gate=gate, fingerprint=fingerprint, body=body, evidence=evidence)
    return replace(found, title=title, blocks=blocks)


async def _inputs(parts: Parts, job: Job, gate: Gate, plan: Mapping[str, str]) -> dict[str, str]:
    """The artifacts and files that a gate names, by path."""
    if not gate.inputs:
        return {}
    try:
        wanted = Scope.parse(json.dumps(list(gate.inputs)))
    except ScopeError:
        return {}
    secret = (await parts.turn_of(job)).contract.secret_paths
    wanted = Scope(patterns=wanted.patterns, without=secret)
    found = {path: text for path, text in plan.items() if wanted.allows(path)}
    head = job.head_sha or job.base
    paths = [
        path for path in await parts.git.listing(job.space, head) if not is_plan(path) and wanted.allows(path)
    ]
    for path, content in (
        await parts.git.read_files(job.space, head, sorted(paths)[:MOST_INPUTS], limit_bytes=MOST_BYTES)
    ).items():
        found[path] = content.decode(errors="replace")
    return dict(sorted(found.items())[:MOST_INPUTS])


def _contract_told(text: str, plan: Mapping[str, str], paths: Collection[str]) -> str:
    """A proposed contract in the words in which people read one, with what differs from the one there; or what is held against it."""
    found = review_text(text, existing=paths)
    if found.contract is None:
        return "It does not hold:\n\n" + "\n".join(f"- {defused_line(item)}" for item in found.problems)
    told = summary(found.contract, paths)
    present = init_job.present_contract(plan)
    if present is None:
        return told
    return f"**What changes**\n\n{changes_between(present, found.contract)}\n\n{told}"


def _first_words(name: str, gate: Gate, *, is_contract: bool) -> str:
    if is_contract:
        return (
            "An architect proposes this contract. Confirmed, it is committed on the branch of this job, and jobs go by it once that is"
            " merged. Rejected, the architect proposes again, and reads your words."
        )
    return (
        f"Gate {name}, between {gate.source} and {gate.target}. Approved, the work goes on to {gate.approve}; "
        f"rejected, it goes to {gate.reject}, and your words with it."
    )


def _body(name: str, gate: Gate, inputs: Mapping[str, str], changes: Sequence[Change], told: str) -> str:
    """What people read: the transition, each input, and the size of the change."""
    lines = [_first_words(name, gate, is_contract=bool(told))]
    missing = [pattern for pattern in gate.inputs if not inputs]
    if missing:
        lines.append(f"Nothing is there of what it shows: {', '.join(map(defused_line, missing))}.")
    for path, text in inputs.items():
        if path == init_job.DRAFT and told:
            lines.append(told)
            continue
        lines.append(f"{defused_line(path)}:\n\n{code_block(text, limit=SHOWN_CHARS)}")
    added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
    if changes:
        listed = "".join(f"\n- {defused_line(change.path)}" for change in changes[:SHOWN_FILES])
        more = f"\n- and {len(changes) - SHOWN_FILES} more" if len(changes) > SHOWN_FILES else ""
        lines.append(
            f"The change so far: {count(len(changes), 'file')}, +{added} −{removed}.\n{listed}{more}"
        )
    else:
        lines.append("No file of the repository has changed so far.")
    return "\n\n".join(lines)


def is_approved(connection: sqlite3.Connection, job: Job, view: GateView) -> bool:
    """Whether the last answer at this gate approved the very same."""
    of_gate = [
        item
        for item in decisions.answered(connection, job.id)
        if item.subject is Subject.GATE and item.options[1:2] == (view.name,)
    ]
    return bool(of_gate) and of_gate[-1].verb is Verb.APPROVE and of_gate[-1].options[0] == view.fingerprint


def question(job: Job, view: GateView) -> Decision:
    """What people are asked at a gate that is theirs."""
    audience = Audience.APPROVER if view.gate.audience == Audience.APPROVER else Audience.WRITER
    asked = ask(job, Subject.GATE, view.body, at=view.evidence.at, options=view.options, audience=audience)
    if not view.title:
        return asked
    verbs = tuple(verb for verb in asked.verbs if verb is not Verb.TAKE_OVER)  # there is no branch
    return replace(asked, title=view.title, verbs=verbs, blocks=view.blocks)


def keep(connection: sqlite3.Connection, view: GateView) -> None:
    """Write down that this was shown."""
    record(connection, view.evidence)
