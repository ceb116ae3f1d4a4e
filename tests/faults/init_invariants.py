"""What must hold of every job of `init`, whatever happened to the daemon: read from its rows, its ledger, its evidence and its branch.

Each function gives one sentence for each violation, and none when all is well.
"""

import json
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from overlord.domain.contracts.contract import is_plan
from overlord.domain.contracts.reading import CONTRACT_DIR, read_contract
from overlord.domain.conversation.issue_request import RequestKind
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.discovery.question import Discovery, Status
from overlord.domain.event import EventName as E
from overlord.domain.job import Job
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import ContractError
from overlord.store import decisions, jobs
from overlord.store.bootstrap import discoveries, issue_requests
from overlord.store.evidence import EvidenceStore, exhibits
from tests.faults.remembered import Fact, facts

PATH = f"{CONTRACT_DIR}/contract.yaml"
DRAFT = "plan/contract.yaml"


def of_init(connection: sqlite3.Connection, forge: EmbeddedForge, evidence: EvidenceStore) -> Iterator[str]:
    """Everything that can be seen of the jobs that bring a contract."""
    for job in jobs.all_jobs(connection, limit=1_000_000):
        request = issue_requests.of_issue(connection, job.space, job.issue.number)
        if request is None or request.kind is not RequestKind.INIT:
            continue
        asked, told = decisions.of_job(connection, job.id), facts(connection, job.id)
        shown = _shown(connection, evidence, job)
        discovery = discoveries.of_job(connection, job.id)
        for violation in (
            *(_answers(discovery, asked) if discovery is not None else ()),
            *_committed(asked, told),
            *_branch(forge, job, asked, told, shown),
        ):
            yield f"job {job.id}: {violation}"


def _answers(discovery: Discovery, asked: Sequence[Decision]) -> Iterator[str]:
    """No answer of a person is lost, none is made up, and what was answered is not asked again."""
    answered = dict[str, Decision]()
    for decision in (item for item in asked if item.subject is Subject.DISCOVERY):
        again = answered.keys() & set(decision.options)
        yield from (f"question {name} was answered and is asked again" for name in sorted(again))
        if decision.state is DecisionState.ANSWERED and decision.applied and decision.verb is not Verb.DROP:
            numbers = range(1, len(decision.options) + 1)
            said = {
                number
                for number in numbers
                if decision.verb is Verb.ACCEPT
                or any(line.startswith(f"{number}:") for line in decision.answer.splitlines())
            }
            answered |= {decision.options[number - 1]: decision for number in said}
    for name, decision in answered.items():
        item = discovery.get(name)
        words = [line.partition(":")[2].strip() for line in decision.answer.splitlines()]
        if item is None or item.by != decision.answered_by:
            yield f"what {decision.answered_by} said of question {name} is lost"
        elif item.status is Status.ANSWERED and item.answer not in words:
            yield f"question {name} has the answer {item.answer!r}, which nobody gave"
    for item in discovery.questions:
        if item.by and item.id not in answered:
            yield f"question {item.id} has an answer of {item.by}, who was not asked"


def _committed(asked: Sequence[Decision], told: Sequence[Fact]) -> Iterator[str]:
    """One commit at most for each confirmation, and none without."""
    confirmed = {item.id for item in asked if _confirms(item)}
    made = Counter(fact.data["decision"] for fact in told if fact.name is E.CONTRACT_COMMITTED)
    for number, count in made.items():
        if number not in confirmed:
            yield f"a contract was committed for decision {number}, which confirms none"
        if count > 1:
            yield f"a contract was committed {count} times for decision {number}"


def _shown(connection: sqlite3.Connection, evidence: EvidenceStore, job: Job) -> Mapping[str, str]:
    """The contracts that gates showed, by their fingerprints."""
    found = dict[str, str]()
    for item in exhibits(connection, job.id):
        if item.kind == "gate" and item.removed_at is None:
            kept = json.loads(evidence.get(item.sha256))
            found[kept["fingerprint"]] = kept["inputs"].get(DRAFT, "")
    return found


def _branch(
    forge: EmbeddedForge,
    job: Job,
    asked: Sequence[Decision],
    told: Sequence[Fact],
    shown: Mapping[str, str],
) -> Iterator[str]:
    """What is published has a contract that a person confirmed and that holds, in a commit for each, and nothing of the plan."""
    if job.pushed_sha is None or job.base_sha is None:
        return
    repository, since = forge.directory(job.space), f"{job.base_sha}..{job.pushed_sha}"
    paths = _git(repository, "log", "--no-renames", "--format=", "--name-only", since)
    if paths is None:  # the branch is deleted, and its objects with it
        return
    yield from (f"{path} of its plan was pushed" for path in set(paths.splitlines()) if is_plan(path))
    there = _git(repository, "show", f"{job.pushed_sha}:{PATH}")
    if any(fact.name is E.FOREIGN_PUSH_FOUND for fact in told) or PATH not in paths.splitlines():
        return
    confirmed = [shown.get(item.options[0]) for item in asked if _confirms(item)]
    if not confirmed:
        yield "a contract was pushed that nobody confirmed"
    elif there not in confirmed:
        yield "what was pushed is not the text that a person confirmed"
    elif _is_delivered(told) and there != confirmed[-1]:
        yield "the contract in its branch is not the one that was confirmed last"
    yield from _invalid(there or "")
    commits, made = paths.splitlines().count(PATH), sum(fact.name is E.CONTRACT_COMMITTED for fact in told)
    if commits > made:
        yield f"{commits} commits change the contract, and {made} were made"


def _confirms(decision: Decision) -> bool:
    return decision.subject is Subject.GATE and decision.verb is Verb.APPROVE


def _is_delivered(told: Sequence[Fact]) -> bool:
    """Whether what was confirmed last is delivered."""
    names = [fact.name for fact in told if fact.name in (E.GATE_APPROVED, E.DELIVERED)]
    return names[-1:] == [E.DELIVERED]


def _invalid(text: str) -> Iterator[str]:
    try:
        read_contract({PATH: text.encode()})
    except ContractError as error:
        yield f"the contract that was pushed does not hold: {error}"


def _git(repository: object, *words: str) -> str | None:
    done = subprocess.run(["git", "-C", str(repository), *words], check=False, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None
