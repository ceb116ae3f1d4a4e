"""What is special about the job of `init`, which discovers what a project is and proposes its contract.

The engine's steps ask here and nowhere else: `of(parts, job)` is None for every other job. What its sessions are told beside their
brief are artifacts of its plan, which Overlord writes; what they say comes back through the session API, and only a person's answer
and the rules of contracts decide what becomes of it.
"""

import asyncio
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from minion.protocol import Bootstrap
from overlord.config_files import packaged
from overlord.domain.bootstrap.begin_discovery import begin
from overlord.domain.bootstrap.documents import given_paths
from overlord.domain.bootstrap.examples import examples_for, rules_text
from overlord.domain.bootstrap.experience import as_markdown as experience_text
from overlord.domain.bootstrap.experience import experience
from overlord.domain.bootstrap.proposal import review_text, tool_schema
from overlord.domain.bootstrap.survey import as_markdown as survey_text
from overlord.domain.bootstrap.survey import paths_to_read, survey_of
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.criteria.criterion import CriterionResult
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES, parse_files
from overlord.domain.conversation.issue_request import InitMode, IssueRequest, RequestKind
from overlord.domain.discovery.outcome import misses
from overlord.domain.discovery.question import Discovery
from overlord.domain.discovery.text import for_session
from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.errors import ContractError
from overlord.store import ledger
from overlord.store.bootstrap import contract_drafts, discoveries, experience_facts, issue_requests
from overlord.store.contracts import plan_files

NAME = "init"
"""Of its contract."""
DISCOVER, DOCUMENT, PROPOSE = "discover", "document", "propose"
"""Its phases."""
DRAFT = "plan/contract.yaml"
PRESENT = "plan/present/"
"""The files of the contract that a review starts from."""
DISCOVERY = "plan/discovery.md"
RECORDED = frozenset({DRAFT, DISCOVERY})
"""What the session API alone writes: what a session pushes in their place is left out."""
OURS = "overlord"
"""Who wrote an artifact that no session made."""
SHOWN_IDS = 12
MOST_BYTES = 200_000
_DOCUMENTS = ("vision.md", "architecture.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class InitJob:
    """A job whose issue was opened to have a contract proposed."""

    request: IssueRequest

    @property
    def contract(self) -> Contract:
        """The contract it goes by: ours, whatever the repository or its settings name."""
        return _contract("contract" if self.request.options.discovers else "contract_only")

    @property
    def is_review(self) -> bool:
        return self.request.options.mode is InitMode.REVIEW


async def of(parts: Parts, job: Job) -> InitJob | None:
    """What is special about this job; None where it is no job of `init`."""
    return await parts.database.read(lambda c: read(c, job))


def read(connection: sqlite3.Connection, job: Job) -> InitJob | None:
    """The same, in one view of the database."""
    request = issue_requests.of_issue(connection, job.space, job.issue.number)
    is_init = request is not None and request.kind is RequestKind.INIT
    return InitJob(request=request) if request is not None and is_init else None


@cache
def _contract(name: str) -> Contract:
    return load_contract(packaged(f"bootstrap/{name}.yaml"), f"the contract of init ({name})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What its sessions begin with."""

    files: Mapping[str, str]
    """Artifacts of the plan."""
    discovery: Discovery | None


async def ground(parts: Parts, job: Job, base: Sha, special: InitJob) -> Ground:
    """Read the repository at its base commit. Raises Refused where its own .nebulus files cannot be read."""
    sizes = await parts.git.sizes(job.space, base)
    paths = paths_to_read(sizes)
    contents = await parts.git.read_files(job.space, base, paths, limit_bytes=MOST_BYTES)
    survey = await asyncio.to_thread(survey_of, base, sizes, contents)
    files = {"plan/survey.md": survey_text(survey), "plan/rules.md": rules_text()}
    examples = examples_for(survey.kind, survey.state)
    files |= {f"plan/examples/{name}": text for name, text in examples.items()}
    named = special.request.options.documents
    given = dict(zip(given_paths([name for name, _ in named]), [text for _, text in named], strict=True))
    files |= given
    if special.is_review:
        files |= await _reviewed(parts, job, base)
    discovery = None
    if special.request.options.discovers:
        texts = {
            path: contents[path].decode(errors="replace") for path in survey.documents if path in contents
        }
        discovery = await asyncio.to_thread(begin, survey, {**texts, **given})
        files[DISCOVERY] = for_session(discovery)
    redact = parts.current.redactor.redact
    return Ground(files={path: redact(text) for path, text in files.items()}, discovery=discovery)


async def _reviewed(parts: Parts, job: Job, base: Sha) -> dict[str, str]:
    """The contract there, and what was experienced under it."""
    paths = [f"{CONTRACT_DIR}/{name}" for name in CONTRACT_FILES]
    found = await parts.git.read_files(job.space, base, paths)
    files = {
        f"{PRESENT}{path.rsplit('/', 1)[1]}": data.decode(errors="replace") for path, data in found.items()
    }
    facts = await parts.database.read(lambda c: experience_facts.of_space(c, job.space))
    files["plan/experience.md"] = experience_text(await asyncio.to_thread(experience, facts))
    return files


def present_contract(plan: Mapping[str, str]) -> Contract | None:
    """The contract that a review started from; None for other jobs, and where it cannot be read any more."""
    files = {path: text.encode() for path, text in plan.items() if path.startswith(PRESENT)}
    if not files:
        return None
    try:
        return parse_files({path.removeprefix(PRESENT): data for path, data in files.items()})
    except ContractError:
        return None


def keep_ground(connection: sqlite3.Connection, parts: Parts, job: Job, found: Ground) -> None:
    """Write down what its sessions begin with, in the transaction in which the job takes its contract."""
    at = parts.clock.now()
    plan_files.put(connection, job.id, found.files, session_id=OURS, at=at)
    if found.discovery is not None:
        discoveries.put(connection, job.id, found.discovery, at=at)


def keep_discovery(connection: sqlite3.Connection, parts: Parts, job: Job, discovery: Discovery) -> None:
    """The discovery as it stands now, and the copy that sessions read."""
    at = parts.clock.now()
    discoveries.put(connection, job.id, discovery, at=at)
    plan_files.put(connection, job.id, {DISCOVERY: for_session(discovery)}, session_id=OURS, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The tool that a session of one of its phases has beside the usual ones."""

    bootstrap: Bootstrap
    schema: str = ""


def tool_in(special: InitJob | None, phase: str) -> Tool | None:
    """Which one, if any."""
    if special is None:
        return None
    if phase == DISCOVER:
        return Tool(bootstrap=Bootstrap.DISCOVERY)
    return Tool(bootstrap=Bootstrap.CONTRACT, schema=tool_schema()) if phase == PROPOSE else None


def criteria_in(special: InitJob | None, phase: str) -> tuple[str, ...]:
    """What has to be so after a session of one of its phases, as it is told."""
    return () if special is None else _CRITERIA.get(phase, ())


_CRITERIA: Mapping[str, tuple[str, ...]] = {
    DISCOVER: ("discovery_recorded: every question of plan/discovery.md was looked at",),
    DOCUMENT: ("documents_written: vision.md and architecture.md have what plan/discovery.md asks of them",),
    PROPOSE: ("contract_valid: the last proposal meets every rule of plan/rules.md",),
}


async def judged(parts: Parts, job: Job, phase: str) -> tuple[CriterionResult, ...]:
    """What is held against the work of one of its phases, beside what its contract says; nothing for other jobs."""
    special = await of(parts, job)
    if special is None or phase not in _CRITERIA:
        return ()
    discovery, plan = await parts.database.read(
        lambda c: (discoveries.of_job(c, job.id), plan_files.of_job(c, job.id))
    )
    name = _CRITERIA[phase][0]
    if phase == DISCOVER:
        left = [item.id for item in discovery.unrecorded] if discovery is not None else []
        shown = ", ".join(left[:SHOWN_IDS]) + (
            f" and {len(left) - SHOWN_IDS} more" if len(left) > SHOWN_IDS else ""
        )
        return (_result(name, [f"Not recorded: {shown}."] if left else [], DISCOVERY),)
    head = job.head_sha or job.base
    if phase == DOCUMENT:
        return (_result(name, await _documents_miss(parts, job, head, discovery), ""),)
    listing = await parts.git.listing(job.space, head)
    text = plan.get(DRAFT, "")
    found = await asyncio.to_thread(review_text, text, existing=frozenset(listing))
    problems = list(found.problems) if text else ["No contract was proposed: use propose_contract."]
    return (_result(name, problems, DRAFT),)


async def _documents_miss(parts: Parts, job: Job, head: Sha, discovery: Discovery | None) -> list[str]:
    listing = await parts.git.listing(job.space, head)
    meant = sorted(filter(_is_document, listing))
    contents = await parts.git.read_files(job.space, head, meant, limit_bytes=MOST_BYTES)
    files = {path: data.decode(errors="replace") for path, data in contents.items()}
    return list(misses(discovery, files)) if discovery is not None else []


def _is_document(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder in ("", "docs") and name.lower() in _DOCUMENTS


def _result(name: str, problems: list[str], file: str) -> CriterionResult:
    if not problems:
        return CriterionResult(name=name, is_met=True, message="It is so.", file=file or None)
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(problems, start=1))
    return CriterionResult(name=name, is_met=False, message=problems[0], file=file or None, evidence=listed)


def best_draft(connection: sqlite3.Connection, job: Job) -> contract_drafts.ContractDraft | None:
    """The best contract that was proposed so far, with what is left of problems."""
    return contract_drafts.of_job(connection, job.id)


def committed(connection: sqlite3.Connection, job: Job) -> str:
    """The digest of the contract that was committed last; empty where none was."""
    found = [
        entry.details.get("contract")
        for entry in ledger.entries(connection, job_id=job.id)
        if entry.name == EventName.CONTRACT_COMMITTED
    ]
    return str(found[-1]) if found else ""


async def shown_contract(parts: Parts, job: Job, plan: Mapping[str, str]) -> str:
    """The contract that a person confirms: the last proposal, or where that is committed, what people have made of it in the branch."""
    proposed = sha256(plan.get(DRAFT, "").encode()).hexdigest()
    if await parts.database.read(lambda c: committed(c, job)) == proposed:
        path = f"{CONTRACT_DIR}/{CONTRACT_FILES[0]}"
        if (there := await parts.git.read_file(job.space, job.head_sha or job.base, path)) is not None:
            return there.decode(errors="replace")
    return plan.get(DRAFT, "")
