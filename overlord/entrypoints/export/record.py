"""All that was kept of a job, read in one consistent view, and the files it becomes."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import yaml

from minion.protocol import Brief, SessionKind, encode
from overlord.domain.budgets.budget import Cost
from overlord.domain.decision import Decision, Subject
from overlord.domain.decision_history import Fact
from overlord.domain.inquiry import total
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.domain.text.json_text import json_text
from overlord.domain.text.redacting import redacting, redacting_json
from overlord.entrypoints.export.names import Names, safe_name, safe_path
from overlord.entrypoints.export.writing import Absent, Bundle
from overlord.entrypoints.terminal.brief_text import brief_text
from overlord.errors import StoreError
from overlord.home import Home
from overlord.store import decisions, evidence, jobs, ledger, sessions
from overlord.store.budgets import exchanges
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.contracts import job_contracts, plan_files
from overlord.store.contracts.job_contracts import JobContract
from overlord.store.evidence import EvidenceFile, EvidenceStore
from overlord.store.ledger import Entry
from overlord.store.rows import adapter

FINAL = "final"
GATE = "gate"
_OF_SESSIONS = {"log": "log.txt", "diff": "diff.patch", "transcript": "transcript.jsonl"}
_FROM_ROWS = frozenset({"brief", "report"})
"""Kinds that a session's row holds as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The rows of a job."""

    job: Job
    contract: JobContract | None
    redact: tuple[str, ...]
    plan: dict[str, str]
    sessions: list[Session]
    evaluations: list[EvaluationRow]
    decisions: list[Decision]
    evidence: list[EvidenceFile]
    ledger: list[Entry]
    cost: Cost
    costs: dict[str, Cost]
    """Of each session."""

    @property
    def facts(self) -> Iterator[Fact]:
        """Its ledger, as its history is told from it."""
        for entry in self.ledger:
            at = datetime.fromisoformat(entry.at)
            yield Fact(at=at, name=entry.name, actor=entry.actor, data=entry.details)

    @property
    def gates(self) -> dict[str, EvidenceFile]:
        """What its gates showed, by directory."""
        shown = [item for item in self.evidence if item.kind == GATE]
        return {f"gates/{number:02}": item for number, item in enumerate(shown, 1)}


def read(connection: sqlite3.Connection, number: int) -> Kept:
    """Raises NotFound."""
    job = jobs.get(connection, number)
    usage, _ = exchanges.job_usage(connection, number)
    spent = dict[str, list[Cost]]()
    for item in exchanges.of_job(connection, number):
        spent.setdefault(item.session_id, []).append(item.cost)
    return Kept(
        job=job,
        contract=job_contracts.get(connection, number),
        redact=job_contracts.redactions(connection, number),
        plan=plan_files.of_job(connection, number),
        sessions=sessions.of_job(connection, number),
        evaluations=evaluations.of_job(connection, number),
        decisions=decisions.of_job(connection, number),
        evidence=evidence.exhibits(connection, number),
        ledger=list(ledger.entries(connection, job_id=number)),
        cost=Cost(tokens=usage.total, nusd=exchanges.job_cost(connection, number)),
        costs={session: total(items) for session, items in spent.items()},
    )


def directory_of(number: int, session: Session) -> str:
    """The directory of a job's n-th session: `sessions/02-backend`, `sessions/03-check`."""
    who = session.role if session.kind is SessionKind.WORK else session.kind
    return f"sessions/{number:02}-{safe_name(who or session.kind)}"


def check_directory(number: int, row: EvaluationRow) -> str:
    """The directory of a job's n-th evaluation."""
    return f"checks/{number:02}-{safe_name(row.head_sha[:10] or 'none')}"


def files(kept: Kept, home: Home) -> Bundle:
    """Everything that is written but for the manifest, redacted as the job's contract says."""
    from overlord.entrypoints.export.readme import readme

    making = _Making(kept=kept, store=EvidenceStore(home.evidence), bundle=Bundle(), names=Names())
    making.rows()
    making.sessions()
    making.checks()
    making.gates()
    making.others()
    making.add("README.md", readme(kept, making.bundle))
    return making.bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class _Making:
    """The files as they come together."""

    kept: Kept
    store: EvidenceStore
    bundle: Bundle
    names: Names

    def add(self, path: str, text: str) -> None:
        """A text, redacted; under another name where this one is taken."""
        path = self.names.take(path)
        is_json = path.endswith((".json", ".jsonl"))
        apply: Callable[..., str] = redacting_json if is_json else redacting
        redacted = apply(text, self.kept.redact)
        if redacted != text and not (is_json and _same(text, redacted)):
            self.bundle.redacted.append(path)
            text = redacted
        self.bundle.files[path] = text.encode(errors="replace")

    def add_json(self, path: str, value: Any) -> None:
        self.add(path, f"{json_text(value, indent=1)}\n")

    def add_evidence(self, path: str, item: EvidenceFile) -> bytes | None:
        """A file of evidence; what is not there is said in the manifest."""
        absent = Absent(kind=item.kind, session=item.session_id, sha256=item.sha256, size=item.size, why="")
        if item.removed_at is not None:
            why = f"removed on {item.removed_at:%Y-%m-%d}, as `keep` in the settings says"
            self.bundle.removed.append({**absent, "why": why})
            return None
        try:
            content = self.store.get(item.sha256)
        except StoreError as error:
            self.bundle.missing.append({**absent, "why": str(error)})
            return None
        self.add(path, content.decode(errors="replace"))
        return content

    def rows(self) -> None:
        kept = self.kept
        if kept.contract is not None:
            contract = yaml.safe_dump(
                json.loads(kept.contract.text), sort_keys=False, allow_unicode=True, width=100
            )
            head = f"# {kept.contract.source}; digest {kept.contract.digest}\n"
            self.add("contract.yaml", head.replace("\r", " ") + contract)
        lines = [json_text({**asdict(entry), "data": entry.details}) for entry in kept.ledger]
        self.add("ledger.jsonl", "".join(f"{line}\n" for line in lines))
        for path, text in kept.plan.items():
            self.add(f"plan/{safe_path(path.removeprefix('plan/'))}", text)
        self.add_json("decisions.json", [asdict(item) for item in kept.decisions])

    def sessions(self) -> None:
        for number, session in enumerate(self.kept.sessions, 1):
            place = directory_of(number, session)
            if session.brief:
                told: Brief = adapter(Brief).validate_json(session.brief)
                before = sum(row.at <= session.prepared_at for row in self.kept.evaluations)
                self.add(f"{place}/brief.md", _fenced(brief_text(told, evaluation=before)))
                self.add_json(f"{place}/brief.json", json.loads(session.brief))
            if session.report is not None:
                self.add_json(f"{place}/report.json", json.loads(encode(session.report)))
            own = [item for item in self.kept.evidence if item.session_id == session.id]
            for item in own:
                if item.kind not in _FROM_ROWS:
                    name = _OF_SESSIONS.get(item.kind, f"{safe_name(item.kind)}.txt")
                    self.add_evidence(f"{place}/{name}", item)

    def checks(self) -> None:
        for number, row in enumerate(self.kept.evaluations, 1):
            place = check_directory(number, row)
            self.add_json(f"{place}/evaluation.json", adapter(EvaluationRow).dump_python(row, mode="json"))
            for item in self._shown_by(row):
                self.add_evidence(f"{place}/{safe_name(item.kind)}.json", item)

    def _shown_by(self, row: EvaluationRow) -> Iterator[EvidenceFile]:
        """What an evaluation made itself; what its sessions left is with them."""
        named = {digest for check in row.checks for digest in check.evidence}
        seen = set[str]()
        for item in self.kept.evidence:
            if item.session_id is None and item.sha256 in named - seen:
                seen.add(item.sha256)
                yield item

    def gates(self) -> None:
        for place, item in self.kept.gates.items():
            content = self.add_evidence(f"{place}/inputs.json", item)
            shown = _object(content)
            name, fingerprint = str(shown.get("gate", "")), str(shown.get("fingerprint", ""))
            for path, text in _object(shown.get("inputs")).items():
                self.add(f"{place}/inputs/{safe_path(path)}", str(text))
            asked = [
                decision
                for decision in self.kept.decisions
                if decision.subject is Subject.GATE and decision.options[:2] == (fingerprint, name)
            ]
            said = [
                {"seq": entry.seq, "at": entry.at, "event": entry.name, "by": entry.actor, **entry.details}
                for entry in self.kept.ledger
                if name and name in {entry.details.get("gate"), entry.details.get("about")}
            ]
            self.add_json(
                f"{place}/answer.json",
                {"gate": name, "fingerprint": fingerprint, "asked": _answers(asked), "ledger": said},
            )

    def others(self) -> None:
        """The final state, and what belongs to none of the above."""
        shown = {digest for row in self.kept.evaluations for check in row.checks for digest in check.evidence}
        for number, item in enumerate(self.kept.evidence, 1):
            if item.session_id is not None or item.kind == GATE or item.sha256 in shown:
                continue
            path = (
                f"{FINAL}.json" if item.kind == FINAL else f"evidence/{number:03}-{safe_name(item.kind)}.txt"
            )
            self.add_evidence(path, item)


def _answers(asked: Sequence[Decision]) -> list[dict[str, object]]:
    return [
        {
            "decision": item.id,
            "state": item.state,
            "audience": item.audience,
            "verb": item.verb,
            "notes": item.answer,
            "by": item.answered_by,
            "at": item.answered_at,
            "shown": item.body,
        }
        for item in asked
    ]


def _object(content: object) -> dict[str, Any]:
    if isinstance(content, bytes):
        try:
            content = json.loads(content)
        except ValueError:
            return {}
    return content if isinstance(content, dict) else {}


def _same(one: str, other: str) -> bool:
    """Whether two JSON texts say the same."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def _fenced(text: str) -> str:
    """A text in a block that nothing in it can end."""
    longest, run = 2, 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"
