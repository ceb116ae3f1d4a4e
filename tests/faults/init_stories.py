"""Where the points are reached at which a repository gets its contract: one job of `init`, from a comment to the pull request.

The architect leaves four questions open; a person answers some of the first three in words and accepts the rest; a bad contract is
proposed and a good one; the gate is rejected once, the contract edited, and confirmed. A reviewer then has another one made.
"""

import contextlib
import subprocess
from collections.abc import Mapping

from overlord.domain.conversation.issue_request import IssueRequest
from overlord.domain.decision import Decision
from overlord.domain.discovery.question import Status
from overlord.domain.job import Job
from overlord.domain.job import JobState as S
from overlord.failpoints import Failpoint
from overlord.store import decisions, ledger
from overlord.store.bootstrap import discoveries
from overlord.store.contracts import plan_files
from overlord.store.database import open_reader
from overlord.store.rows import select
from tests.faults.campaign import ALICE, Campaign
from tests.faults.invariants import must_hold
from tests.faults.story import Story
from tests.world import REPO

WORDS = "People who add 12 numbers."
FACTS = [
    *("contract_taken", "phase_started", "discovery_recorded", "questions_asked", "discovery_answered"),
    *("questions_asked", "discovery_answered", "phase_completed", "phase_started", "phase_completed"),
    *("phase_started", "contract_proposed", "contract_proposed", "gate_reached", "gate_rejected"),
    *("phase_started", "contract_proposed", "gate_reached", "contract_edited", "gate_reached"),
    *("gate_approved", "contract_committed", "delivered"),
    *("changes_requested", "contract_proposed", "gate_reached", "gate_approved", "contract_committed"),
    "delivered",
]
"""What happens to it, in this order. What a session says twice, since its answer was cut off, is counted once."""
SAID = frozenset({"discovery_recorded", "contract_proposed"})


async def _initialized(told: Campaign) -> None:
    ideas = await told.world.forge.open_issue(REPO, "Ideas")
    told.play()
    told.play()
    await told.world.forge.comment(REPO, ideas, "/overlord init", author=ALICE)
    await told.settle()
    issue = _request(told).issue_number or 0
    await _answers(told, "reply", f"1: {WORDS}\n3: Never.")
    await told.settle()
    await _answers(told, "accept")
    await told.settle()
    await _answers(told, "reject", "Make it last 12 hours.")
    await told.settle()
    mine = told.world.root / f"contract-{issue}.yaml"
    mine.write_text(_proposed(told, issue).replace("hours: 12", "hours: 24"))
    assert "hours: 24" in mine.read_text(), told.log()
    await told.command("contract", "edit", str(told.job(issue).id), "--file", str(mine), done=(0, 5))
    await told.settle()
    await _answers(told, "approve")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    must_hold([f"{job.head} has {_hours(told, job)} hours"] * (_hours(told, job) != "hours: 24"), told.log())
    await told.world.forge.review(
        REPO, job.pull_number or 0, author=ALICE, state="CHANGES_REQUESTED", body="Make it last 6 hours."
    )
    await told.settle()
    await _answers(told, "approve")
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    must_hold([*_wrong(told, job)], told.log())
    await told.close(issue)
    await told.world.forge.close_issue(REPO, ideas)


def _request(told: Campaign) -> IssueRequest:
    """The last that was asked for."""
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return select(connection, IssueRequest, "SELECT * FROM issue_requests ORDER BY id")[-1]


async def _answers(told: Campaign, *words: str) -> None:
    """A person answers the one question there is; whoever was cut off says it again, and hears that it was said."""
    waiting = told.waiting()
    assert len(waiting) == 1, f"{waiting}\n{told.log()}"
    await told.command("decisions", "answer", str(waiting[0]), *words, done=(0, 5))


def _proposed(told: Campaign, issue: int) -> str:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return plan_files.of_job(connection, told.job(issue).id)["plan/contract.yaml"]


def _hours(told: Campaign, job: Job) -> str:
    """The lifetime in the contract of the job's branch, as it is written there."""
    path = f"{job.pushed_sha}:.nebulus/contract/contract.yaml"
    show = ["git", "-C", str(told.world.forge.directory(REPO)), "show", path]
    text = subprocess.run(show, check=False, capture_output=True, text=True).stdout
    return next((line.strip() for line in text.splitlines() if "hours:" in line), "no contract, or none")


def _wrong(told: Campaign, job: Job) -> list[str]:
    """What is not as it is where nobody was ever killed."""
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        names = [entry.name for entry in ledger.entries(connection, job_id=job.id)]
        asked: list[Decision] = decisions.of_job(connection, job.id)
        discovery = discoveries.of_job(connection, job.id)
    assert discovery is not None
    said = [item for item in discovery.questions if item.status is Status.ANSWERED]
    confirmed = [item for item in discovery.questions if item.status is Status.CONFIRMED]
    expected = {
        "facts": (_facts(names), _facts(FACTS)),
        "answers": ([str(item.verb or item.state) for item in asked], ANSWERS),
        "in words": ([item.answer for item in said], [WORDS, "Never."]),
        "accepted": (len(confirmed), 2),
        "lifetime": (_hours(told, job), "hours: 6"),
        "round": (job.round, 1),
    }
    return [f"{what}: {found}, not {right}" for what, (found, right) in expected.items() if found != right]


ANSWERS = ["reply", "accept", "reject", "superseded", "approve", "approve"]


def _facts(names: list[str]) -> list[str]:
    """Those that count, each of what sessions say once in a row."""
    found: list[str] = []
    for name in filter(set(FACTS).__contains__, names):
        if name not in SAID or found[-1:] != [name]:
            found.append(name)
    return found


INITIALIZED = Story(name="initialized", tell=_initialized)
P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (P.DISCOVERY_RECORDED, P.CONTRACT_PROPOSED, P.CONTRACT_EDITED, P.COMMIT_FILES, P.CONTRACT_COMMITTED),
    INITIALIZED,
)
MOVES = (
    *(P.ISSUE_REQUEST_SETTLED, P.CONTRACT_TAKEN, P.PHASE_BEGUN, P.WORK_PREPARED, P.DISCOVERY_RECORDED),
    *(P.REPORT_TAKEN, P.WORK_SETTLED, P.VERDICT_WRITTEN, P.DECISION_ANSWERED, P.ANSWER_APPLIED),
    *(P.KEEP_COMMIT, P.CONTRACT_PROPOSED, P.KEEP_EVIDENCE, P.CONTRACT_EDITED, P.COMMIT_FILES),
    *(P.CONTRACT_COMMITTED, P.PUSH_ORDERED, P.PUSH, P.JOB_DELIVERED, P.ROUND_BEGUN),
)
"""Where the job goes on, or is about to."""
