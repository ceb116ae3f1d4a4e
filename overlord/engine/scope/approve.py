"""A queued job about which nothing says what may be written: where its contract asks for that, a person does, once for each text.

The answer is read from the decision itself (`domain/scope/approval.py`), so there is nothing a crash could leave half done.
"""

import asyncio
import sqlite3

from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobState
from overlord.domain.question import ask
from overlord.domain.scope.approval import approved, question, text_key
from overlord.domain.scope.tree import Tree
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.scope.allow import Allowed
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs

MOST_SUGGESTED = 8


async def ask_first(parts: Parts, job: Job, allowed: Allowed, base: Sha) -> Progress:
    """Put it to a person; whether that was news. The answer takes the job back to the queue, or ends it."""
    paths = await parts.git.listing(job.space, base)
    suggested = await asyncio.to_thread(suggestion, frozenset(paths))
    body = question(job.issue, [reason.why for reason in allowed.reasons], suggested)
    options = tuple(filter(None, (text_key(job.issue), suggested)))
    at = parts.clock.now()

    def put(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        is_same = (now.state, now.issue) == (JobState.QUEUED, job.issue)
        if not is_same or approved(decisions.answered(connection, job.id), now.issue) is not None:
            return False
        decision = ask(now, Subject.SCOPE_UNKNOWN, body, at=at, options=options)
        data: dict[str, Json] = {"subject": Subject.SCOPE_UNKNOWN, "body": body}
        reason = body.splitlines()[0]
        jobs.move(connection, job.id, EventName.DISPATCH_REFUSED, at=at, data=data, reason=reason)
        decisions.raise_decision(connection, decision)
        return True

    return Progress.of(await parts.database.write(Failpoint.SCOPE_ASKED, put))


def suggestion(paths: frozenset[str]) -> str:
    """The packages of a tree and their tests, as an answer would name them; empty where there are none, or too many."""
    tree = Tree(paths)
    roots = dict.fromkeys((*tree.main_roots(), *tree.test_roots))
    outer = [root for root in roots if not any(root.startswith(f"{other}/") for other in roots)]
    named = [*(f"{root}/**" for root in outer), *tree.loose_sources()]
    is_plain = all(set(name).isdisjoint(" ,`[]?!\\") for name in named)
    return " ".join(named) if is_plain and len(named) <= MOST_SUGGESTED else ""
