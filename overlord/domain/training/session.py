"""What the trainer's two sessions of one call come to: where their records lie, and which of them are kept."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from overlord.domain.disciplines.call import CallStatus
from overlord.domain.text.plain import count, visible
from overlord.domain.text.redaction import Redactor
from overlord.domain.training.candidate import Candidate, CandidatesError, read_candidates
from overlord.domain.training.gate import Dropped, Gate
from overlord.domain.training.likeness import KnownRecords
from overlord.domain.training.project_words import ProjectWords
from overlord.domain.training.record import MOST_FILE_BYTES, Record, RecordKind, read_lines

DIRECTORY = "training-data"
WRITTEN_KINDS = (RecordKind.SFT, RecordKind.DPO)
"""What the writer has a file for. A candidate for `kto` is a text and a verdict on it: it is written as the reader told it, if the gate
lets it through."""
MOST_RECORDS = 400
"""Of one file of a writer; those after are dropped."""
MOST_EXAMPLES = 10
MOST_NAME_CHARS = 60
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]*")
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_HASHED = re.compile(r"-[0-9a-f]{10}")


def file_name(session_key: str) -> str:
    """The name of a session's files: its own where that is a plain name, else one made of it that no other session has."""
    is_plain = _SAFE.fullmatch(session_key) and not session_key.endswith(".")
    if is_plain and len(session_key) <= MOST_NAME_CHARS and not _HASHED.fullmatch(session_key[-11:]):
        return f"{session_key}.jsonl"
    slug = _UNSAFE.sub("-", session_key.lower())[:MOST_NAME_CHARS].strip("._-") or "session"
    return f"{slug}-{sha256(session_key.encode('utf-8', 'replace')).hexdigest()[:10]}.jsonl"


def path_of(kind: RecordKind, session_key: str) -> str:
    """The file of a session's records of one kind, below the brain's directory and below the writer's tree."""
    return f"{DIRECTORY}/{kind}/{file_name(session_key)}"


def scope_of(session_key: str) -> tuple[str, ...]:
    """The files that the writer may write, by exact name."""
    return tuple(path_of(kind, session_key) for kind in WRITTEN_KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOutcome:
    """What is kept of a call, and what is not."""

    status: CallStatus
    """`error` where the candidates could not be read, else `pass`."""
    kept: tuple[Record, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Dropped, ...] = ()
    """The first ones that were dropped."""
    message: str = ""
    """One sentence for whoever called."""
    runner_output: str = ""
    """What was written where, and what was dropped and why."""
    file_path: str = ""
    """The file that is written last; empty for none."""

    @property
    def verified(self) -> bool:
        """Whether there is anything to write: it holds once that is written."""
        return bool(self.kept)

    @property
    def counts(self) -> dict[RecordKind, int]:
        """How many are kept of each kind."""
        found = Counter(record.kind for record in self.kept)
        return {kind: found[kind] for kind in RecordKind}


def judged(
    candidates_text: str,
    files: Mapping[str, bytes],
    *,
    session_key: str,
    words: ProjectWords,
    redactor: Redactor,
    existing: Iterable[Record] = (),
) -> TrainingOutcome:
    """What of a writer's files is kept. `files` by their paths (`scope_of`; others are not looked at), `existing` the records that the
    session's files had before this call. Never raises for what a model wrote."""
    try:
        candidates = read_candidates(candidates_text)
    except CandidatesError as error:
        return TrainingOutcome(status=CallStatus.ERROR, message=str(error))
    known = KnownRecords()
    for record in existing:
        known.add(record)
    gate = Gate(candidates=candidates, words=words, redactor=redactor, known=known)
    kept, dropped = list[Record](), list[Dropped]()
    for kind, where, proposed in _proposed(files, session_key, candidates):
        reason = proposed if isinstance(proposed, str) else gate.reason_against(proposed)
        if isinstance(proposed, Record) and not reason:
            kept.append(proposed)
        else:
            dropped.append(Dropped(kind=kind, where=where, reason=reason))
    return _outcome(session_key, kept, dropped)


def _proposed(
    files: Mapping[str, bytes], session_key: str, candidates: Sequence[Candidate]
) -> Iterable[tuple[RecordKind, str, Record | str]]:
    """The records of the writer's files, then the reader's own for `kto`; in the place of one that cannot be read, why."""
    for kind in WRITTEN_KINDS:
        content = files.get(path_of(kind, session_key), b"")
        if len(content) > MOST_FILE_BYTES:
            yield kind, "the file", f"it has more than {MOST_FILE_BYTES:,} bytes"
            continue
        for number, found in enumerate(read_lines(kind, content), 1):
            is_read = number <= MOST_RECORDS
            yield kind, f"record {number}", found if is_read else f"only {MOST_RECORDS} records are read"
    for number, candidate in enumerate(candidates, 1):
        if candidate.kind is RecordKind.KTO and candidate.is_kept:
            yield RecordKind.KTO, f"candidate {number}", candidate.record


def _outcome(session_key: str, kept: list[Record], dropped: list[Dropped]) -> TrainingOutcome:
    reasons = Counter(item.reason for item in dropped)
    counts = Counter(record.kind for record in kept)
    written = [kind for kind in RecordKind if counts[kind]]
    return TrainingOutcome(
        status=CallStatus.PASS,
        kept=tuple(kept),
        dropped=dict(reasons.most_common()),
        examples=tuple(dropped[:MOST_EXAMPLES]),
        message=_message(session_key, counts),
        runner_output="\n".join([_written(counts), *_told(dropped, reasons)]),
        file_path=path_of(written[-1], session_key) if written else "",
    )


def _message(session_key: str, counts: Mapping[RecordKind, int]) -> str:
    if not any(counts.values()):
        return "no pairs passed quality gate"
    more = f" + {counts[RecordKind.KTO]} kto records" if counts[RecordKind.KTO] else ""
    shown = visible(session_key)[:200]
    return f"{counts[RecordKind.SFT]} sft + {counts[RecordKind.DPO]} dpo pairs{more} for session {shown}"


def _written(counts: Mapping[RecordKind, int]) -> str:
    if not any(counts.values()):
        return "0 pairs passed quality gate"
    sft, dpo, kto = (counts[kind] for kind in RecordKind)
    more = f", {kto} KTO records to brain/{DIRECTORY}/kto/" if kto else ""
    return (
        f"{sft} SFT pairs written to brain/{DIRECTORY}/sft/, {dpo} DPO pairs to brain/{DIRECTORY}/dpo/{more}"
    )


def _told(dropped: Sequence[Dropped], reasons: Counter[str]) -> Iterable[str]:
    if not dropped:
        return
    yield f"{count(len(dropped), 'record')} dropped:"
    yield from (f"- {number} × {visible(reason)[:200]}" for reason, number in reasons.most_common())
    yield "The first: " + "; ".join(f"{item.kind} {item.where}" for item in dropped[:MOST_EXAMPLES])
