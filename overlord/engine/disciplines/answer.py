"""How a call ends: its result with what code found of it, the patch and the evidence kept, in one transaction."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from minion.protocol import Report, SessionKind
from overlord.domain.disciplines.call import Call, CallResult, CallStatus, Verification
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import plain_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.errors import ChangeTooLong, GitFailed
from overlord.failpoints import Failpoint
from overlord.store import sessions
from overlord.store.budgets import exchanges
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceFile, record

PATCH_BYTES = 8_000_000
"""The longest patch that is handed back."""
MESSAGE_CHARS = 2_000
OUTPUT_CHARS = 60_000
VERIFICATION, PATCH = "verification", "patch"
"""The kinds of a call's evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What a call's work came to, before it is written down."""

    status: CallStatus
    message: str
    file_path: str = ""
    runner_output: str = ""
    verification: Verification
    details: Mapping[str, object] = field(default_factory=dict)
    """What was run and what it showed, for the evidence."""


async def failed(parts: Parts, job: Job, call: Call, why: str, over: endings.Over | None = None) -> Progress:
    """End a call that cannot be worked on, or whose worker gave no result: nothing is verified and nothing handed back."""
    why = why.strip() or "It could not be worked on."
    worked = Worked(
        status=CallStatus.ERROR,
        message=plain_line(why, limit=MESSAGE_CHARS),
        verification=Verification(verified=False, why=plain_line(why, limit=MESSAGE_CHARS)),
    )
    return await end(parts, job, call, worked, over=over, hands_back=False)


async def end(
    parts: Parts,
    job: Job,
    call: Call,
    worked: Worked,
    *,
    over: endings.Over | None = None,
    hands_back: bool = True,
    note: Callable[[sqlite3.Connection], str] = lambda _: "",
) -> Progress:
    """Write a call's result down, with what its kind notes: `note` gives what is added to the message. `over` is a session that ends with
    it; the change is kept only where it `hands_back`."""
    patch, changed, worked = await _patch_of(parts, job, worked) if hands_back else (b"", (), worked)
    base_tree, head_tree = await _trees(parts, job, has_changed=bool(patch), must_be=hands_back)
    text = parts.current.redactor.redact(json_text(_document(call, worked, base_tree, head_tree), indent=1))
    kept = [await _keep(parts, job, VERIFICATION, text.encode())]
    if patch:
        kept.append(await _keep(parts, job, PATCH, patch))

    def write(connection: sqlite3.Connection) -> None:
        if over is not None:
            endings.close(connection, parts, over)
        for item in kept:
            record(connection, item)
        message = f"{worked.message} {note(connection)}".strip()
        made = _result(connection, job, call, replace(worked, message=message))
        result = made(changed=changed, base_tree=base_tree, head_tree=head_tree, evidence=kept[0].sha256)
        calls.end(connection, call, result, patch=kept[1].sha256 if patch else "", at=parts.clock.now())

    await parts.database.write(Failpoint.CALL_ENDED, write)
    return Progress.MOVED


def _result(connection: sqlite3.Connection, job: Job, call: Call, worked: Worked) -> "_Maker":
    """The result of a call, but for what was changed."""
    ran = [item for item in sessions.of_job(connection, job.id) if item.kind is SessionKind.WORK]
    reports = [item.report for item in ran if isinstance(item.report, Report)]
    return _Maker(
        status=worked.status,
        phase=call.kind.phase,
        skill=call.kind.skill,
        file_path=worked.file_path,
        runner_output=worked.runner_output[:OUTPUT_CHARS],
        verified=worked.verification.verified,
        model_used=", ".join(exchanges.models_of(connection, job.id)),
        message=worked.message[:MESSAGE_CHARS],
        why=worked.verification.why,
        code=worked.verification.code,
        turns=sum(report.turns for report in reports),
        nusd=exchanges.job_cost(connection, job.id),
    )


class _Maker:
    """A result that lacks what the caller knows."""

    def __init__(self, **known: object) -> None:
        self._known = known

    def __call__(self, **more: object) -> CallResult:
        return CallResult(**self._known, **more)  # type: ignore[arg-type]


def _document(call: Call, worked: Worked, base_tree: str, head_tree: str) -> dict[str, object]:
    """What the evidence says of how the result was found."""
    return {
        "call": call.ref,
        "discipline": call.discipline,
        "space": call.space,
        "arguments": dict(call.arguments),
        "base_commit": call.base_sha,
        "base_tree": base_tree,
        "head_tree": head_tree,
        "status": worked.status,
        "verification": asdict(worked.verification),
        **worked.details,
    }


async def _patch_of(parts: Parts, job: Job, worked: Worked) -> tuple[bytes, tuple[str, ...], Worked]:
    """The change as a patch, and its files; none where it cannot be handed back, which the result then says."""
    if not job.head_sha or job.head_sha == job.base_sha:
        return b"", (), worked
    try:
        patch = await parts.git.patch(job.space, job.base, job.head, limit_bytes=PATCH_BYTES)
    except ChangeTooLong as error:
        return b"", (), _held_back(worked, str(error))
    text = patch.decode(errors="surrogateescape")
    if parts.current.redactor.redact(text) != text:
        return b"", (), _held_back(worked, "the change holds a secret of Overlord's")
    changes = await parts.git.changes(job.space, job.base, job.head)
    return patch, tuple(sorted({path for change in changes for path in change.paths})), worked


def _held_back(worked: Worked, why: str) -> Worked:
    verification = Verification(verified=False, why=f"Nothing is handed back: {why}.")
    return Worked(
        status=CallStatus.ERROR,
        message=verification.why,
        runner_output=worked.runner_output,
        verification=verification,
        details=worked.details,
    )


async def _trees(parts: Parts, job: Job, *, has_changed: bool, must_be: bool) -> tuple[Sha | str, Sha | str]:
    """The trees before and after; empty where the commit cannot be looked at, unless a result rests on it."""
    if not job.base_sha:
        return "", ""
    try:
        base = await parts.git.tree_of(job.space, job.base)
        return base, await parts.git.tree_of(job.space, job.head) if has_changed else base
    except GitFailed:
        if must_be:
            raise
        return "", ""


async def _keep(parts: Parts, job: Job, kind: str, content: bytes) -> EvidenceFile:
    return EvidenceFile(
        job_id=job.id,
        session_id=None,
        kind=kind,
        sha256=await asyncio.to_thread(parts.evidence.put, content),
        size=len(content),
        at=parts.clock.now(),
    )
