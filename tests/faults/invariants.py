"""What "nothing lost" means (SANDBOX §6), as one look at everything there is after a fault.

`check_world` is for scenarios: a started world whose jobs have settled and whose faults are over. `violations` is for
whoever has only a database to read, a forge and a home: a daemon in a process of its own.
"""

import contextlib
import os
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from overlord.domain.conversation.issue_request import IssueRequest
from overlord.domain.job import Job, JobState
from overlord.domain.skills.pull_review import MARK
from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.forge import AGENT, EmbeddedForge
from overlord.embedded.forge.record import Issue, Pull
from overlord.engine.issues.projection import label_for
from overlord.home import Home
from overlord.settings.work import Labels
from overlord.store import jobs, sessions
from overlord.store.database import open_reader
from overlord.store.evidence import EvidenceStore
from overlord.store.rows import select
from tests.faults.contract_invariants import of_contracts
from tests.faults.init_invariants import of_init
from tests.faults.remembered import of_database
from tests.world import World

_HINTS = {
    "spaces": {"polled_at", "heard_at", "seen_at"},
    "environments": {"used_at"},
    "jobs": {"issue_looked_at"},
    "notes": {"checked_at"},
    "daemon": {"epoch", "token"},
}
"""Columns that say when something was last looked at; a look may change them."""
LABELS = Labels(
    work="nebulus-ready",
    in_progress="in-progress",
    in_review="in-review",
    attention="needs-attention",
    priority="high-priority",
    skill_change="skill-change",
)
MOST_RETRIES = 30


async def check_world(world: World, *, canaries: Sequence[str] = (), restart: bool = True) -> None:
    """Raise AssertionError with every violation there is. Reconciles, and then again (by another daemon when
    `restart`) to see that nothing changes."""
    found = [f"a step is still put off after {MOST_RETRIES} tries"] * (not await _reconcile(world))
    before = state_of(world)
    if restart:
        await world.stop()
    await _reconcile(world)
    found += differences(before, state_of(world))
    home, settings = Home(world.root / "home"), world.settings()
    secret = [*settings.secrets(), *canaries]
    with contextlib.closing(open_reader(home.database)) as connection:
        replies = [seen.tokens for seen in world.model.requests if seen.status == 200]
        found += violations(
            connection, world.forge, home, canaries=secret, labels=settings.labels, replies=replies
        )
    found += [f"the model was sent {canary[:4]}…" for canary in secret if _heard(world, canary)]
    found += [
        f"the runner still holds {item.session}" for item in await world.overlord.parts.runner.sessions()
    ]
    must_hold(found)


def must_hold(found: Sequence[str], *beside: str) -> None:
    """Raise AssertionError where something does not hold, and note it: no second try excuses it."""
    if noted(found):
        raise AssertionError("\n".join([_listed(found), *beside]))


def noted(found: Sequence[str]) -> Sequence[str]:
    """The same, once they are written down where FAULT_VIOLATIONS says: for who fails on them later, with what else they found."""
    where = os.environ.get("FAULT_VIOLATIONS")
    if found and where:
        with Path(where).open("a", encoding="utf-8") as file:
            file.write(f"{os.environ.get('PYTEST_CURRENT_TEST', '')}\n{_listed(found)}\n")
    return found


def _listed(found: Sequence[str]) -> str:
    return "\n".join(["violations:", *(f"- {violation}" for violation in found)])


def violations(
    connection: sqlite3.Connection,
    forge: EmbeddedForge,
    home: Home,
    *,
    canaries: Sequence[str] = (),
    labels: Labels = LABELS,
    replies: Sequence[int] = (),
) -> list[str]:
    """Everything that is not as it must be once all jobs have settled, one sentence each. `replies`: of how many tokens
    each was that the model gave."""
    rows = jobs.all_jobs(connection, limit=1_000_000)
    return [
        *of_database(connection, EvidenceStore(home.evidence)),
        *of_contracts(connection, forge),
        *of_init(connection, forge, EvidenceStore(home.evidence)),
        *_requested(connection, forge),
        *_at_forge(rows, forge, labels),
        *_unmetered(connection, replies),
        *_left_over(connection, home),
        *_told(home, forge, canaries),
    ]


def _requested(connection: sqlite3.Connection, forge: EmbeddedForge) -> Iterator[str]:
    """What a person asked for is exactly one issue, as its row says; or none, and the row says why. Those that were there already are
    not ordered."""
    for asked in select(
        connection, IssueRequest, "SELECT * FROM issue_requests WHERE ordered_at IS NOT NULL"
    ):
        found = [issue.number for issue in forge.issues(asked.space) if asked.key in issue.body]
        wanted = [asked.issue_number] if asked.issue_number is not None else []
        if found != wanted:
            yield f"request {asked.id} is in the issues {found}, and its row says {wanted}"
        if asked.issue_number is None and not asked.trouble:
            yield f"request {asked.id} was ordered and is no issue"


def _at_forge(rows: Sequence[Job], forge: EmbeddedForge, labels: Labels) -> Iterator[str]:
    """One branch and one pull request at most for each job, and no other; labels and comment say what the row says."""
    for repository in forge.repositories():
        name = repository.name
        mine = [job for job in rows if job.space == name]
        heads = {branch: sha for branch, sha in _heads(forge, name).items() if branch.startswith("minion/")}
        for branch in heads.keys() - {job.branch for job in mine}:
            yield f"{name}: nobody's branch {branch}"
        for job in mine:
            pulls = [pull for pull in forge.pulls(name) if pull.head_branch == job.branch]
            yield from (
                f"job {job.id}: {problem}" for problem in _published(job, pulls, heads.get(job.branch))
            )
        for pull in forge.pulls(name):
            if pull.author == AGENT and not any(pull.head_branch == job.branch for job in mine):
                yield f"{name}: nobody's pull request {pull.number}"
            said = [item.body for item in forge.comments(name, pull.number) if item.author == AGENT]
            if (times := sum(MARK in body for body in said)) > 1:
                yield f"{name}: pull request {pull.number} is told of its skills {times} times"
        last = {job.issue.number: job for job in sorted(mine, key=lambda job: job.id)}
        for issue in forge.threads(name):
            if not isinstance(issue, Pull):
                yield from _shown(forge, issue, last.get(issue.number), mine, labels)


def _published(job: Job, pulls: Sequence[Pull], head: str | None) -> Iterator[str]:
    if len(pulls) > 1:
        yield f"{len(pulls)} pull requests: {[pull.number for pull in pulls]}"
    if job.pull_number is None and pulls:
        yield f"pull request {pulls[0].number} is not in its row"
    if job.pull_number is not None and job.pull_number not in [pull.number for pull in pulls]:
        yield f"its pull request {job.pull_number} is not from its branch"
    if head is not None and head != job.pushed_sha and job.is_open:
        yield f"its branch is at {head[:12]}, and its row says {str(job.pushed_sha)[:12]}"
    if job.state is JobState.IN_REVIEW:
        ready = [pull for pull in pulls if pull.open and not pull.draft and pull.head_sha == job.head_sha]
        if not ready or head != job.head_sha:
            yield f"is in review without an open, ready pull request at {str(job.head_sha)[:12]}"


def _shown(
    forge: EmbeddedForge, issue: Issue, job: Job | None, mine: Iterable[Job], labels: Labels
) -> Iterator[str]:
    ours = {labels.work, labels.in_progress, labels.in_review, labels.attention} & set(issue.labels)
    if job is None:
        if issue.open and ours:
            yield f"issue {issue.number} is labelled {sorted(ours)} and has no job"
        return
    wanted = {label_for(job.state, labels)} - {None}
    if ours != wanted:
        yield f"job {job.id} is {job.state} and its issue is labelled {sorted(ours)}"
    for each in (item for item in mine if item.issue.number == issue.number):
        mark = f"<!-- overlord:job {each.id} -->"
        count = sum(mark in comment.body for comment in forge.comments(issue.repository, issue.number))
        if count != 1:
            yield f"job {each.id} has {count} comments on its issue"


def _left_over(connection: sqlite3.Connection, home: Home) -> Iterator[str]:
    """What ended sessions must not leave behind: processes, sockets, repositories, a runner's notes."""
    live = {session.id for session in sessions.live(connection)}
    rows = connection.execute("SELECT id FROM sessions").fetchall()
    over = {row["id"] for row in rows} - live
    for process, session in _processes(home.root):
        if session not in live:
            yield f"process {process} of {session} still runs"
    for session in sorted(over):
        left = [home.session_api(session), home.session(session), home.processes / session]
        left += home.containers.glob(f"{session}.*") if home.containers.is_dir() else []
        yield from (f"{session} left {path.relative_to(home.root)}" for path in left if path.exists())


def _processes(root: Path) -> Iterator[tuple[int, str]]:
    """Every process of a session below this home, on the machine or in a container."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if not entry.name.isdecimal():
                continue
            environment = (entry / "environ").read_bytes()
            mark = next((item for item in environment.split(b"\0") if item.startswith(b"MINION_ID=")), b"")
            if mark and str(root).encode() in environment + (entry / "mountinfo").read_bytes():
                yield int(entry.name), mark.removeprefix(b"MINION_ID=").decode()


def _told(home: Home, forge: EmbeddedForge, canaries: Sequence[str]) -> Iterator[str]:
    """Nothing secret in what is kept, nor in anything that people can read."""
    secret = [canary for canary in canaries if canary]
    for path in home.root.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            held = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            for canary in secret:
                if canary in path.name or canary.encode() in held:
                    yield f"{path.relative_to(home.root)} holds {canary[:4]}…"
    for repository in forge.repositories():
        shown = _readable(forge, repository.name)
        yield from (f"{repository.name} shows {canary[:4]}…" for canary in secret if canary in shown)


def _readable(forge: EmbeddedForge, name: str) -> str:
    """Everything people can read of a repository: issues, pull requests, comments, statuses, branches and commits."""
    heads = _heads(forge, name)
    threads = forge.threads(name)
    comments = [forge.comments(name, thread.number) for thread in threads]
    statuses = [forge.statuses(name, sha) for sha in set(heads.values())]
    command = ["git", "-C", str(forge.directory(name)), "log", "--all", "--patch", "--format=fuller"]
    log = subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="replace")
    return f"{threads} {comments} {statuses} {heads} {log}"


def _heads(forge: EmbeddedForge, name: str) -> dict[str, str]:
    return bare.heads(forge.directory(name))


def _unmetered(connection: sqlite3.Connection, replies: Sequence[int]) -> Iterator[str]:
    """Each reply is on the books, and for what it cost at least: what a crash cut off is there for the most it could have."""
    [row] = connection.execute(
        "SELECT count(*) AS exchanges, coalesce(sum(iif(settled, prompt + completion, reserved)), 0) AS tokens FROM exchanges"
    )
    if len(replies) > row["exchanges"]:
        yield f"the model replied {len(replies)} times, of which {row['exchanges']} were metered"
    if sum(replies) > row["tokens"]:
        yield f"the model's replies were {sum(replies)} tokens, of which {row['tokens']} were metered"


def _heard(world: World, text: str) -> bool:
    return any(text.encode() in seen.body for seen in world.model.requests)


async def _reconcile(world: World) -> bool:
    """Let everything be looked at once more, and what was put off be tried again; whether nothing is left to try."""
    tries = 0

    def is_done() -> bool:
        nonlocal tries
        tries += 1
        return world.overlord.tick.next_delay_s() is None or tries > MOST_RETRIES

    await world.settle()
    await world.until(is_done)
    if tries > 1:  # or nothing was left to try, and all was looked at once more
        await world.settle()
    return world.overlord.tick.next_delay_s() is None


def state_of(world: World) -> dict[str, Any]:
    """Everything there is, but for who looked at it when."""
    with contextlib.closing(open_reader(Home(world.root / "home").database)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        state: dict[str, Any] = {table: _rows(connection, table) for table in tables}
    for repository in world.forge.repositories():
        name = repository.name
        threads = world.forge.threads(name)
        state[f"{name} threads"] = [repr(thread) for thread in threads]
        state[f"{name} comments"] = [repr(world.forge.comments(name, thread.number)) for thread in threads]
        heads = _heads(world.forge, name)
        state[f"{name} branches"] = [f"{branch} {sha}" for branch, sha in heads.items()]
        state[f"{name} statuses"] = [repr(world.forge.statuses(name, sha)) for sha in heads.values()]
    if world.chat is not None:
        state["chat"] = [repr(message) for message in world.chat.workspace.standing.values()]
        state["whispers"] = [repr(message) for message in world.chat.workspace.whispers]
    state["requests to the model"] = [str(len(world.model.requests))]
    return state


def _rows(connection: sqlite3.Connection, table: str) -> list[str]:
    hints = _HINTS.get(table, set())
    rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
    told = [row for row in rows if "daemon_started" not in (row.get("name"), row.get("first"))]
    # That a pull request has nothing to do with skills is known once it was looked at.
    told = [row for row in told if (table, row.get("outcome")) != ("vettings", "untouched")]
    return [repr({name: value for name, value in row.items() if name not in hints}) for row in told]


def differences(before: dict[str, list[str]], after: dict[str, list[str]]) -> Iterator[str]:
    for name in before.keys() | after.keys():
        old, new = Counter(before.get(name, [])), Counter(after.get(name, []))
        for row in (new - old).elements():
            yield f"a second reconcile changed {name}: now {row[:300]}"
        for row in (old - new).elements():
            yield f"a second reconcile changed {name}: gone {row[:300]}"
