"""Where the points are reached at which a contract is taken, its phases begin, and its architect is asked: one job through all of it.

A plan that a person rejects and then approves, two roles in turn, work that is too large and is taken back, guidance of the
architect, a gate at which the architect decides, and delivery; all the while the contract at base is another one.
"""

import contextlib
import json
import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from minion.protocol import SessionKind
from overlord.domain.decision import Decision, Subject
from overlord.domain.job import Job
from overlord.domain.job import JobState as S
from overlord.failpoints import Failpoint
from overlord.store import ledger, sessions
from overlord.store.contracts import job_contracts, plan_files
from overlord.store.database import open_reader
from overlord.store.rows import select
from tests.faults.campaign import Campaign
from tests.faults.invariants import must_hold
from tests.faults.story import Story
from tests.world import CALC, REPO

OWN = ".nebulus/contract/contract.yaml"
CONTRACT: dict[str, Any] = {
    "name": "team",
    "version": 2,
    "constitution": 1,
    "lifetime": {"hours": 100},
    "escalation": ["architect", "person"],
    "roles": {
        "architect": {
            "scope": ["docs/**"],
            "verification": [{"artifact_exists": "plan/plan.md"}],
            "budget": {"iterations": 2, "exhausted": "ask"},
        },
        "coder": {
            "scope": ["calc.py"],
            "verification": ["diff_non_empty"],
            "budget": {"iterations": 2, "diff_lines": 10, "exhausted": "architect"},
        },
        "writer": {
            "scope": ["NOTES.md"],
            "verification": [{"artifact_exists": "NOTES.md"}],
            "budget": {"iterations": 1, "exhausted": "ask"},
        },
    },
    "phases": {
        "plan": {
            "actors": ["architect"],
            "inputs": ["issue"],
            "outputs": ["plan/**"],
            "criteria": [{"artifact_exists": "plan/plan.md"}],
            "next": {"done": "build"},
        },
        "build": {
            "actors": ["coder", "writer"],
            "inputs": ["issue", "plan/**"],
            "outputs": ["calc.py", "NOTES.md"],
            "criteria": ["evaluation_passed"],
            "next": {"done": "ship"},
        },
        "ship": {"terminal": True},
    },
    "gates": {
        "plan_approval": {
            "on": "plan->build",
            "audience": "approver",
            "inputs": ["plan/**"],
            "approve": "build",
            "reject": "plan",
        },
        "look": {"on": "build->ship", "audience": "architect", "approve": "ship", "reject": "build"},
        "merge": {"on": "ship->end", "audience": "person", "approve": "merged", "reject": "pr_closed"},
    },
}
TEXT = yaml.safe_dump(CONTRACT, sort_keys=False)
OTHER = TEXT.replace("hours: 100", "hours: 50")
WORDS = "Think of double()."
WORK = [
    *(("plan", "architect"), ("plan", "architect")),
    *(("build", "coder"), ("build", "coder"), ("build", "coder?"), ("build", "coder"), ("build", "writer")),
    ("build", "look?"),
]
"""The sessions that are not lost, by phase and role; what is asked of the architect by what it is about."""
FACTS = [
    *("contract_taken", "phase_started", "plan_changed", "gate_reached", "gate_rejected"),
    *("phase_started", "plan_changed", "gate_reached", "phase_completed", "phase_started"),
    *("revision_ordered", "escalated", "escalation_resolved", "role_completed", "escalated", "passed"),
]
"""What happens to it, in this order and once each."""


async def _led(told: Campaign) -> None:
    await told.world.push({OWN: TEXT, "calc.py": CALC["calc.py"], "NOTES.md": "None.\n"})
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.WAITING)
    await _answered(told, issue, "reject", WORDS)
    await told.world.push({OWN: OTHER})
    await told.settle()
    told.expect(issue, S.WAITING)
    await _answered(told, issue, "approve")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    must_hold([*_wrong(told, job)], told.log())
    await told.close(issue)


async def _answered(told: Campaign, issue: int, *words: str) -> None:
    """A person answers at the gate; whoever was cut off says it again, and hears that it was said."""
    [decision] = told.waiting()
    await told.command("decisions", "answer", str(decision), *words, done=(0, 5))


def _wrong(told: Campaign, job: Job) -> list[str]:
    """What is not as it is where nobody was ever killed."""
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        entries = list(ledger.entries(connection, job_id=job.id))
        plan = plan_files.of_job(connection, job.id)
        asked = select(connection, Decision, "SELECT * FROM decisions WHERE job_id = ? ORDER BY id", job.id)
        contract = job_contracts.get(connection, job.id)
        worked = [
            _turn(json.loads(item.brief))
            for item in sessions.of_job(connection, job.id)
            if item.kind is SessionKind.WORK and item.report is not None
        ]
    facts = [entry.name for entry in entries]
    by_role = [entry.name for entry in entries if entry.actor == "role:architect"]
    commits = [
        "git",
        "-C",
        str(told.world.forge.directory(REPO)),
        "rev-list",
        f"{job.base_sha}..{job.pushed_sha}",
    ]
    expected = {
        "facts": (list(filter(set(FACTS).__contains__, facts)), FACTS),
        "sessions": (worked, WORK),
        "plan": ([WORDS in text for text in plan.values()], [True]),
        "questions": ([item.subject for item in asked], [Subject.GATE, Subject.GATE]),
        "answers": ([item.verb for item in asked], ["reject", "approve"]),
        "contract": (contract is not None and 'hours":100' in contract.text, True),
        "other contract at base": (sum(name.startswith("contract_changed") for name in facts), 1),
        "reverted": (facts.count("work_reverted"), 1),
        "decided by the architect": (by_role, ["escalation_resolved", "passed"]),
        "commits": (len(subprocess.run(commits, check=True, capture_output=True).stdout.split()), 2),
    }
    return [f"{what}: {found}, not {right}" for what, (found, right) in expected.items() if found != right]


def _turn(brief: dict[str, Any]) -> tuple[str, str]:
    asked = brief["terms"]["consultation"]
    about = f"{asked['question'].split()[1] if asked['kind'] == 'resolution' else 'look'}?" if asked else ""
    return brief["terms"]["phase"], about or brief["role"]


LED = Story(name="led by a contract", tell=_led, files={**CALC, OWN: TEXT, "NOTES.md": "None.\n"})
P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (P.CONTRACT_TAKEN, P.PHASE_BEGUN, P.CONSULTATION_SETTLED), LED
)
MOVES = (
    *(
        P.CONTRACT_TAKEN,
        P.PHASE_BEGUN,
        P.WORK_PREPARED,
        P.WORK_STARTED,
        P.REPORT_TAKEN,
        P.KEEP_COMMIT,
        P.DROP_PATHS,
    ),
    *(P.WORK_SETTLED, P.DIFF_JUDGED, P.CHECK_JUDGED, P.VERDICT_WRITTEN, P.CONSULTATION_SETTLED),
    *(P.DECISION_ANSWERED, P.ANSWER_APPLIED, P.JOB_DELIVERED),
)
"""Where a job under a contract goes on, or is about to."""
