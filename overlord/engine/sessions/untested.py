"""A repository without tests: before the first session there a person says, once, how its work is judged.

Whether there are tests is read from the base commit; nothing of it is run for that. Without an answer no session begins.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from minion.protocol import Answer, Scope, ScopeMode
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks import untested
from overlord.domain.checks.file import CHECKS_PATH, ChecksFile, ChecksFileError, parse_checks
from overlord.domain.checks.lint import LINT_CONFIGURATION, describe_lint
from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.decision import Subject, Verb
from overlord.domain.environments.file import EnvironmentFileError
from overlord.domain.environments.recipe import recipe, wanted
from overlord.domain.evaluation import CheckResult
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job, JobState
from overlord.domain.question import ask
from overlord.domain.scope.check import Change, effective_scope
from overlord.domain.scope.reason import Reason
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.engine.scope.allow import Allowed
from overlord.engine.sessions import environment
from overlord.failpoints import Failpoint
from overlord.ports.git import Git
from overlord.store import decisions, jobs
from overlord.store.budgets import grants
from overlord.store.budgets.grants import GrantKind
from overlord.store.spaces import untested_policies
from overlord.verbs import untested as commands_untested
from overlord.verbs.scope import covers


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsAtCommit:
    """A commit, as far as tests go."""

    has_tests: bool
    names: Mapping[str, str]
    tests: str = ""
    lint: str = ""
    """What runs them and what lints, in words."""


async def look(git: Git, name: RepositoryName, commit: Sha) -> TestsAtCommit:
    """Read whether there are tests. What cannot be read is said to be there: another step tells what is wrong with it."""
    names = await git.listing(name, commit)
    asked = (CHECKS_PATH, *untested.to_read(names), *LINT_CONFIGURATION, *wanted(names))
    files = await git.read_files(name, commit, tuple(dict.fromkeys(asked)))
    try:
        own, usual = parse_checks(files.get(CHECKS_PATH)), recipe(files, names)
    except (ChecksFileError, EnvironmentFileError):
        return TestsAtCommit(has_tests=True, names=names)
    found = ChecksFile(tests=(own and own.tests) or usual.tests, lint=(own and own.lint) or usual.lint)
    texts = {path: files[path].decode(errors="replace") for path in LINT_CONFIGURATION if path in files}
    return TestsAtCommit(
        has_tests=untested.has_tests(found, names, files),
        names=names,
        tests=found.tests.words if found.tests else "python -m pytest",
        lint=describe_lint(found.lint, texts, names),
    )


async def ask_first(parts: Parts, job: Job, base: Sha) -> bool | None:
    """Put the question where it is to be put; None where the session may be prepared, else whether that was news."""
    if await lead_job.is_ours(parts, job):  # what it brings needs no tests
        return None
    if job.id not in await parts.database.read(lambda c: untested_policies.unworked(c, job.space)):
        return None
    seen = await look(parts.git, job.space, base)
    if seen.has_tests or await parts.database.read(lambda c: untested_policies.of(c, job.space)) is not None:
        return None
    body = untested.question(seen.names, seen.lint, review=parts.settings.space(job.space).checks.review)

    def put(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        is_known = untested_policies.of(connection, job.space) or job.space in untested_policies.asked(
            connection
        )
        if now.state is not JobState.QUEUED or is_known:
            return False
        data: dict[str, Json] = {"subject": Subject.UNTESTED, "body": body}
        reason, at = body.splitlines()[0], parts.clock.now()
        jobs.move(connection, job.id, EventName.DISPATCH_REFUSED, at=at, data=data, reason=reason)
        decisions.raise_decision(connection, ask(now, Subject.UNTESTED, body, at=at))
        return True

    return await parts.database.write(Failpoint.PERSON_ASKED, put)


def waiting_jobs(connection: sqlite3.Connection) -> dict[int, str]:
    """The jobs that wait for the answer another one asks for, and what they say of that."""
    found = dict[int, str]()
    for space, asking in untested_policies.asked(connection).items():
        waits = f"It waits: job {asking} asks how work is judged here, where no tests were found."
        found |= dict.fromkeys(untested_policies.unworked(connection, space) - {asking}, waits)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What a session is told and given because of what was said here."""

    policy: UntestedPolicy | None = None
    answers: tuple[Answer, ...] = ()
    patterns: tuple[str, ...] = ()
    """What it must be able to write."""
    is_over: bool = False
    """Whether the policy counts no more: there are tests now."""

    def widened(self, allowed: Allowed) -> Allowed:
        """What a session may write, with the place of its tests."""
        more = self.beyond(allowed.scope)
        if self.policy is None or not more:
            return allowed
        why = f"tests are to be written first: {self.policy.describe()}"
        return replace(
            allowed,
            scope=effective_scope(allowed.scope, None, more),
            reasons=(*allowed.reasons, *(Reason(pattern=pattern, why=why) for pattern in more)),
        )

    def beyond(self, scope: Scope) -> tuple[str, ...]:
        if scope.mode is ScopeMode.UNRESTRICTED:
            return ()
        return tuple(pattern for pattern in self.patterns if not covers(scope, pattern))


async def guidance_for(parts: Parts, job: Job, base: Sha) -> Guidance:
    """Look at what was said about a repository before a work session is prepared there."""
    policy = await parts.database.read(lambda c: untested_policies.of(c, job.space))
    if policy is None:
        return Guidance()
    seen = await look(parts.git, job.space, base)
    if seen.has_tests or policy.choice is not Verb.WRITE_TESTS:
        return Guidance(policy=policy, is_over=seen.has_tests)
    node = untested.is_node(seen.names)
    return Guidance(
        policy=policy, answers=(untested.request(node=node),), patterns=untested.patterns(node=node)
    )


def note(
    connection: sqlite3.Connection, job: Job, guidance: Guidance, before: Scope, *, at: datetime
) -> None:
    """In the transaction that prepares the session: what it may write more stays the job's, and a policy that is over ends."""
    policy = guidance.policy
    if policy is None:
        return
    if more := guidance.beyond(before):
        grants.add(connection, job.id, GrantKind.SCOPE, more, by=policy.decided_by, at=at)
    if guidance.is_over and untested_policies.of(connection, policy.space) == policy:
        commands_untested.end(connection, policy, reason="there are tests now", at=at)


async def own_tests(parts: Parts, job: Job, head: Sha, checks: ChecksFile | None) -> ChecksFile | None:
    """The checks with the change's own test command, where each change brings its tests and nothing at base says how; else
    None. Raises EnvironmentFailed."""
    if checks is not None and checks.tests is not None:
        return None
    policy = await parts.database.read(lambda c: untested_policies.of(c, job.space))
    if policy is None or policy.choice is not Verb.WRITE_TESTS:
        return None
    theirs = (await environment.recipe_at(parts, job, head)).tests
    if theirs is None or (await look(parts.git, job.space, job.base)).has_tests:
        return None
    return ChecksFile(tests=theirs, lint=checks.lint if checks else None)


def by_policy(
    connection: sqlite3.Connection, space: str, made: CheckResult, changes: Sequence[Change], *, own: bool
) -> CheckResult:
    """The tests' check as a person's word about this repository makes it; `own`: the command was the change's."""
    policy = untested_policies.of(connection, space)
    if policy is None:
        return made
    brings = any(is_test_path(path) for change in changes for path in change.paths)
    if own and made.findings == () and not brings:
        return untested.not_written(policy)
    if made.subject != Subject.NO_TESTS:
        return made
    return (
        untested.not_judged(policy) if policy.choice is Verb.WITHOUT_TESTS else untested.not_written(policy)
    )
