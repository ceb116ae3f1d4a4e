"""`make campaign`: the whole fault campaign and every slow test, with a random seed of its own unless `FAULT_SEED` names one, and what
the campaign shows as a table: what is promised, what was tried, what is not promised.

    python -m tests.faults [--write] [pytest arguments]

`--write` puts the table into docs/reliability.md.
"""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Tree

from overlord.failpoints import Failpoint
from tests.shares import slow_tests

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- faults -->", "<!-- /faults -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One row: a kind of fault, what holds in spite of it, and the modules that try it."""

    fault: str
    promise: str
    tried: str
    modules: tuple[str, ...]


AREAS = (
    Area(
        fault="`kill -9` at a named point",
        promise="every accepted issue is in exactly one state; nothing is done twice; no attempt is spent",
        tried=f"{len(Failpoint)} commits and outward acts, before and after each, and again while recovering; several in one telling "
        "of a story (`make soak`: each in its own)",
        modules=("test_kills",),
    ),
    Area(
        fault="`kill -9` anywhere",
        promise="the same",
        tried="200 seeded runs with two to four kills; `FAULT_SEED` begins another series",
        modules=("test_random_kills",),
    ),
    Area(
        fault="`kill -9` of a job under a contract of roles",
        promise="the same end: one commit a role, the same plan, no gate asked again that was approved and is unchanged, no session "
        "too many, the contract as it was taken",
        tried="at each of its moves, before and after; 60 times all along its way, seeded; each row changed by hand is found",
        modules=("test_contract_kills", "test_contract_invariants"),
    ),
    Area(
        fault="a fault during a call of another agent",
        promise="one result, one fact and one entry in its history; the same patch; nothing is kept twice; what lasts is the result, as an "
        "error that names it; `verified` only for what was seen",
        tried="`kill -9` behind what it has kept, and all along its way, seeded; each call of forge, git and runner fails once, before and "
        "after its effect, and for good; a lost session; a secret in the change",
        modules=("test_call_kills", "test_call_faults"),
    ),
    Area(
        fault="`kill -9` of `init`, `build` and `fix`",
        promise="no answer of a person is lost or asked for again; the contract in the branch is the text that was confirmed last, in one "
        "commit for each confirmation, and holds",
        tried="at each of its moves, before and after; 60 times all along its way, seeded; each row changed by hand and each other branch "
        "is found",
        modules=("test_init_kills", "test_init_invariants", "test_build_kills"),
    ),
    Area(
        fault="`kill -9` of a goal on its way to merged work",
        promise="its plan, its tasks and what they ask are there once: one issue and one merge a task, no question twice, no answer lost",
        tried="at each point of the portfolio, before and after (with the named points above); 12 kills all along its way, seeded",
        modules=("test_portfolio_kills",),
    ),
    Area(
        fault="`kill -9` while another coding agent works, of Overlord and of the agent's program",
        promise="the session goes on or is begun again, nothing is done twice; a program that was killed is told to a person",
        tried="where such a session comes by, before and after; the program in the middle of its work",
        modules=("test_agent_faults",),
    ),
    Area(
        fault="a call to GitHub, git, the runner or the model fails",
        promise="once: the story ends as ever; for good: the job says whom it waits for, and goes on when it is back",
        tried="the first, second, … call of a whole story, before and after its effect; several in one telling of it "
        "(`make soak`: each in its own); the git program itself, now and then",
        modules=("test_nth_call", "test_git_faults"),
    ),
    Area(
        fault="GitHub answers badly",
        promise="no duplicate, no lost label, no endless loop",
        tried="each endpoint × 14 faults: 401 to 502 with HTML, limits, timeouts and resets on both sides of the effect, bad JSON",
        modules=("test_forge_matrix", "test_forge_matrix_after"),
    ),
    Area(
        fault="Slack answers badly, is away, or is cut off",
        promise="the work goes on without it; what is to stand there stands once when it is back; what was acknowledged counts once",
        tried="each method × limits, errors, timeouts and resets on both sides of the effect; an hour away; dropped sockets; 200 jobs at once",
        modules=("test_chat_faults",),
    ),
    Area(
        fault="the model answers badly",
        promise="it is asked again or a person is; what it cost is on the books",
        tried="each answer × 429 to 529, cut streams, malformed calls, silence, refusals and more, several in one telling of a story "
        "(`make soak`: each in its own); 400 to 529, garbage and endless talk for good",
        modules=("test_model_faults",),
    ),
    Area(
        fault="SQLite is busy, full, broken or from another version",
        promise="what was acknowledged is stored; a database that cannot be used is left alone",
        tried="every commit of a story, locks, limits, corrupt and newer files",
        modules=("test_sqlite_faults",),
    ),
    Area(
        fault="the Docker engine and what lives in it",
        promise="at most one container for a session, none left over; infrastructure spends no attempt",
        tried="engine stopped and killed with and without live-restore, socket gone, calls that hang or whose reply is lost, "
        "images gone, memory (of a command, the Minion, the first process) and disk full, others' kill, stop, restart, pause, "
        "rename and rm; an end that no daemon saw; `kill -9` of the daemon at each act of the runner, and where the engine has done it and nobody heard",
        modules=("test_docker_faults", "test_docker_meddling", "test_docker_kills"),
    ),
    Area(
        fault="the clock jumps, the machine sleeps",
        promise="no session is stopped and no job ends by it",
        tried="± 1 hour and ± 1 year in every state, while running and between two daemons; suspend",
        modules=("test_time_faults",),
    ),
    Area(
        fault="two daemons; an old database comes back",
        promise="one works, the other is fenced and ends; what is newer outside is adopted",
        tried="a stopped daemon that goes on after its successor took over; a backup restored under a newer world",
        modules=("test_two_daemons", "test_restored"),
    ),
    Area(
        fault="`kill -9` while a first contract is made",
        promise="answers, documents, the best draft and the confirmation are kept; what was confirmed is what is committed, once",
        tried="at each move of a job of `init`, and all along its way",
        modules=("test_init_kills",),
    ),
    Area(
        fault="another version takes over",
        promise="forwards the database is upgraded by itself, a copy of it kept, and sessions go on; backwards it is left alone",
        tried="a program with one more migration beside a running session; the older one after it, and the copy put back",
        modules=("test_upgrade",),
    ),
    Area(
        fault="the home is lost, and there is a backup",
        promise="every job ends as it should have, nothing is done twice; what is no whole backup of ours changes nothing",
        tried="`overlord backup` beside a working daemon with jobs in every kind of state, `overlord restore` elsewhere",
        modules=("test_backup",),
    ),
    Area(
        fault="the disk is full or read-only",
        promise="said clearly, nothing lost, goes on by itself when there is room",
        tried="bytes and inodes: of all the home, of evidence alone, of the database alone, by a WAL that somebody's reading lets grow; "
        "read-only at the start and under a running daemon; running low, where what runs goes on and nothing new is begun",
        modules=("test_disk_faults", "test_disk_parts"),
    ),
    Area(
        fault="SIGTERM, and another one",
        promise="the first lets what is in flight end, sessions go on; the second ends at once; neither loses anything",
        tried="in every state of a job",
        modules=("test_sigterm",),
    ),
    Area(
        fault="a session says what is not so, or what is not its to say",
        promise="a secret is in nothing that is kept or shown; an exit code alone is no pass; a hostile tree is not taken in; "
        "what a container's profile refuses, the kernel refuses",
        tried="a model that repeats a token in commands and in its report; a test run that is a zero and no report; a push of a tree with "
        "a `.git` of its own; sockets of packets, Bluetooth, the kernel's cryptography, virtual machines and XDP",
        modules=("test_leaks", "test_docker_walls"),
    ),
    Area(
        fault="load",
        promise="memory, file descriptors and database per job stay flat",
        tried="40 jobs with 5 % random faults, 10 recoveries, six hours of idling (`make soak`: 1,000 jobs, 50, a week)",
        modules=("test_soak",),
    ),
    Area(
        fault="a defence is taken out of the source",
        promise="the campaign fails, and says what went wrong without it",
        tried="each defence in `tests/faults/mutants/`, one at a time",
        modules=("test_mutants", "test_invariants", "test_init_invariants"),
    ),
)

NOT_PROMISED = (
    "A daemon that is suspended between its last look and an act does that one act when it goes on, such as one comment more.",
    "A home that was copied to another place is another Overlord: nothing fences the two from each other.",
    "After a backup was restored, what was spent and which issues were claimed since are not known; what is at GitHub is found.",
    "A push or comment by hand onto what Overlord keeps (its branch, its comment) is noticed, not merged.",
    "A model call that was under way in a crash is paid for and asked again.",
    "A process session (no Docker) that kills its own supervisor first is counted as lost.",
    "A disk that says it wrote and did not; a forge that says it did and did not.",
)


def table(counts: dict[str, tuple[int, int]] | None = None) -> str:
    """The table in Markdown; with the cases and failures of a run when there was one."""
    head = ["fault", "what holds", "what is tried"] + ["cases", "violations"] * (counts is not None)
    rows = [head, ["---"] * len(head)]
    for area in AREAS:
        row = [area.fault, area.promise, area.tried]
        if counts is not None:
            found = [counts.get(module, (0, 0)) for module in area.modules]
            row += [str(sum(cases for cases, _ in found)), str(sum(failed for _, failed in found))]
        rows.append(row)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", "Not promised:", "", *(f"- {line}" for line in NOT_PROMISED)])


def written(page: str) -> str:
    """The page with the table in its place."""
    before, rest = page.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END, 1)[1]}"


def counted(report: Path) -> dict[str, tuple[int, int]]:
    """Cases and failures of each module, from a JUnit report."""
    counts: dict[str, tuple[int, int]] = {}
    for case in Tree.parse(report).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        cases, failed = counts.get(module, (0, 0))
        is_bad = any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
        counts[module] = (cases + 1, failed + is_bad)
    return counts


def main(arguments: Sequence[str]) -> int:
    """Run it and print the table. A case that was skipped counts as a violation: it shows nothing."""
    page = ROOT / "docs" / "reliability.md"
    if "--write" in arguments:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    begun = time.monotonic()
    seed = os.environ.get("FAULT_SEED") or str(1 + secrets.randbelow(10**6) * 1000)
    print(f"FAULT_SEED={seed}", flush=True)
    slow = sorted({name.partition("[")[0] for name in slow_tests() if not name.startswith("tests/faults/")})
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "tests/faults", *slow, "-n", "auto", "--dist", "worksteal"]
        whole = {"FAULT_SEED": seed, "FAULT_SHARE": "1/1", "SLOW_SHARE": "1/1"}
        done = subprocess.run(
            [*command, f"--junit-xml={report}", *arguments],
            cwd=ROOT,
            env={**os.environ, **whole},
            check=False,
        )
        if not report.exists():  # pytest did not even begin, and has said why
            return done.returncode
        print(f"\n{table(counted(report))}\n\n{time.monotonic() - begun:.0f} s, FAULT_SEED={seed}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
