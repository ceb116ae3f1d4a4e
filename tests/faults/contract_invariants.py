"""What must hold of every job under a contract of roles, whatever happened to the daemon: read from its rows, its ledger and its branch.

Each function gives one sentence for each violation, and none when all is well.
"""

import json
import re
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence

from minion.protocol import Scope, SessionKind
from overlord.domain.contracts.contract import Contract, is_plan
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName as E
from overlord.domain.job import Job
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.store import jobs, sessions
from overlord.store.contracts import job_contracts
from overlord.store.rows import select
from tests.faults.remembered import Fact, facts

AFTER_DELIVERY = {
    *(E.CHANGES_REQUESTED, E.CI_FAILED, E.CONFLICT_FOUND, E.REBASED, E.FOREIGN_PUSH_FOUND),
}
_SESSION = re.compile(r"^Issue \d+, session (\S+)\.$", re.MULTILINE)
_LOG = ("log", "--no-renames", "--name-only", "--format=%x01%B%x02")


def of_contracts(connection: sqlite3.Connection, forge: EmbeddedForge) -> Iterator[str]:
    """Everything that can be seen of the jobs that keep a contract."""
    for job in jobs.all_jobs(connection, limit=1_000_000):
        told = facts(connection, job.id)
        row = job_contracts.get(connection, job.id)
        for violation in _taken(row, told):
            yield f"job {job.id}: {violation}"
        if row is None:
            continue
        contract = Contract.model_validate_json(row.text)
        asked = _gates_of(connection, job)
        for violation in (
            *_gates_passed(contract, asked, told),
            *_asked_again(asked, told),
            *_counted(contract, told),
            *_evidence(told),
            *_branch(connection, forge, job, contract),
        ):
            yield f"job {job.id}: {violation}"


def _taken(row: job_contracts.JobContract | None, told: Sequence[Fact]) -> Iterator[str]:
    """A contract is taken once, before all work, and is the same ever after."""
    taken = [fact.data["digest"] for fact in told if fact.name is E.CONTRACT_TAKEN]
    if row is None:
        yield from ["a contract was taken and is in no row"] * bool(taken)
        return
    digest = job_contracts.digest_of(Contract.model_validate_json(row.text))
    if taken != [row.digest] or digest != row.digest:
        yield f"took the contracts {taken}, and its row has {row.digest} with the text of {digest}"
    first = next((fact.name for fact in told if fact.name in (E.SESSION_PREPARED, E.CONTRACT_TAKEN)), None)
    if first is not E.CONTRACT_TAKEN:
        yield "a session was prepared before its contract was taken"


def _gates_of(connection: sqlite3.Connection, job: Job) -> dict[int, Decision]:
    query = "SELECT * FROM decisions WHERE job_id = ? AND subject = ? ORDER BY id"
    return {item.id: item for item in select(connection, Decision, query, job.id, Subject.GATE)}


def _gates_passed(contract: Contract, asked: dict[int, Decision], told: Sequence[Fact]) -> Iterator[str]:
    """Nothing goes through a gate that nobody opened: a person's by a person, who saw the very same; a role's by that role."""
    phase, reused, is_delivered = contract.start, set[str](), False
    for fact in told:
        if fact.name is E.GATE_REUSED:
            yield from _reused(asked, fact)
            reused.add(fact.data["gate"])
        is_delivered = is_delivered or fact.name in AFTER_DELIVERY
        goes = fact.name in (E.PHASE_COMPLETED, E.PASSED, E.GATE_APPROVED)
        if goes and not is_delivered and not contract.keeps_misses:
            target = fact.data.get("next", "") if fact.name is E.PHASE_COMPLETED else ""
            yield from _opened(contract, asked, fact, phase, target, reused)
        if fact.name in (E.PHASE_COMPLETED, E.GATE_REJECTED) and "next" in fact.data:
            phase, reused = fact.data["next"], set()


def _opened(
    contract: Contract, asked: dict[int, Decision], fact: Fact, phase: str, target: str, reused: set[str]
) -> Iterator[str]:
    for name, gate in contract.gates.items():
        leads = target in {"", gate.target, gate.approve} and not gate.is_pull
        if gate.source != phase or not leads or name in reused:
            continue
        decision = asked.get(fact.data.get("decision", 0))
        by_person = decision is not None and decision.options[1] == name and decision.verb is Verb.APPROVE
        by_role = (fact.data.get("by"), fact.data.get("choice")) == (gate.audience, "approve")
        if not (by_person or (by_role and not gate.is_for_people)):
            yield f"{fact.name} took it through gate {name}, which nobody opened"


def _reused(asked: dict[int, Decision], fact: Fact) -> Iterator[str]:
    mine = [item for item in asked.values() if item.options[1] == fact.data["gate"]]
    same = [item for item in mine if item.options[0] == fact.data["fingerprint"]]
    if not any(item.verb is Verb.APPROVE for item in same):
        yield f"gate {fact.data['gate']} was passed by an approval of something else"


def _asked_again(asked: dict[int, Decision], told: Sequence[Fact]) -> Iterator[str]:
    """What was approved and is unchanged is not asked again, and only one question is put for each time a gate is reached."""
    last: dict[str, Decision] = {}
    for decision in asked.values():
        fingerprint, name, *_ = decision.options
        before = last.get(name)
        if before is not None and (before.verb, before.options[0]) == (Verb.APPROVE, fingerprint):
            yield f"gate {name} was approved and unchanged, and is asked again in decision {decision.id}"
        if decision.state is DecisionState.ANSWERED:
            last[name] = decision
            if decision.answered_by.startswith(("role:", "overlord")):
                yield f"decision {decision.id} at gate {name} was answered by {decision.answered_by}"
    reached = sum(fact.name is E.GATE_REACHED and "fingerprint" in fact.data for fact in told)
    if reached != len(asked):
        yield f"reached gates of people {reached} times, and asked {len(asked)} times"


def _counted(contract: Contract, told: Sequence[Fact]) -> Iterator[str]:
    """No role has more sessions than its budget says before somebody else is asked."""
    for fact in told:
        role = contract.roles.get(str(fact.data.get("role", "")))
        if fact.name is E.REVISION_ORDERED and role is not None and role.budget is not None:
            number = fact.data["revision"] + 2
            if number > role.budget.iterations:
                yield f"{fact.data['role']} is given session {number} of {role.budget.iterations}"


def _evidence(told: Sequence[Fact]) -> Iterator[str]:
    """Criteria leave what they saw, met or not."""
    for fact in told:
        if fact.name is E.CHECK_COMPLETED and fact.data["check"] == "criteria" and not fact.data["evidence"]:
            yield f"its criteria at {fact.data['head'][:12]} left no evidence"


def _branch(
    connection: sqlite3.Connection, forge: EmbeddedForge, job: Job, contract: Contract
) -> Iterator[str]:
    """What is published has one commit for each session at most, nothing of the plan, and of each role only what it may write."""
    if job.pushed_sha is None or job.base_sha is None or contract.keeps_misses:
        return
    log = ["git", "-C", str(forge.directory(job.space)), *_LOG, f"{job.base_sha}..{job.pushed_sha}"]
    done = subprocess.run(log, check=False, capture_output=True, text=True)
    if done.returncode != 0:  # the branch is deleted, and its objects with it
        return
    made = Counter[str]()
    scopes = {
        item.id: item.scope for item in sessions.of_job(connection, job.id) if item.kind is SessionKind.WORK
    }
    granted = _granted(connection, job)
    for commit in done.stdout.split("\x01")[1:]:
        message, _, names = commit.partition("\x02")
        paths = names.split("\n")
        yield from (f"{path} of its plan was pushed" for path in paths if contract.has_plan and is_plan(path))
        found = _SESSION.search(message)
        if found is None or found[1] not in scopes:
            continue
        made[found[1]] += 1
        scope = Scope.parse(scopes[found[1]])
        outside = [path for path in paths if path and not scope.allows(path) and path not in granted]
        yield from (f"{found[1]} wrote {path}, which is outside its scope" for path in outside)
    yield from (f"{session} has {count} commits" for session, count in made.items() if count > 1)


def _granted(connection: sqlite3.Connection, job: Job) -> set[str]:
    """The paths that people granted."""
    rows = connection.execute(
        "SELECT patterns FROM decisions WHERE job_id = ? AND verb = ?", (job.id, Verb.GRANT)
    )
    return {path for row in rows for path in json.loads(row["patterns"])}
