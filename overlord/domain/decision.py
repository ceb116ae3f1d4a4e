"""A decision: anything a person must answer. It is answered once, and the answer is bound to what was shown."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from minion.protocol import is_protected
from overlord.domain.job import Job, JobId

SCOPE_GRANT_LIFETIME = timedelta(days=14)
"""How long a job may write more than it was given."""


class DecisionKind(StrEnum):
    """How it is put to people."""

    DECISION = "decision"
    BLOCKER = "blocker"
    QUESTION = "question"
    APPROVAL = "approval"


class DecisionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


class Subject(StrEnum):
    """What a decision is about: the code that says who raises it and what its answers do."""

    EMPTY_REPOSITORY = "empty_repository"
    ENVIRONMENT = "environment"
    DEPENDENCIES = "dependencies"
    DISPATCH_REFUSED = "dispatch_refused"
    FOUND_WORK = "found_work"
    BLOCKED = "blocked"
    STOPPED_SHORT = "stopped_short"
    BUDGET = "budget"
    LOSSES = "losses"
    MODEL = "model"
    UNTESTED = "untested"
    """Before the first session."""
    NO_TESTS = "no_tests"
    """Of a change that was made."""
    NO_TOOLCHAIN = "no_toolchain"
    CHECKS_UNAVAILABLE = "checks_unavailable"
    ESCALATION = "escalation"
    FAILED = "failed"
    PROTECTED_CHANGE = "protected_change"
    CHANGED_TESTS = "changed_tests"
    """What tests expect is not what they expected, or a red one was rewritten or stays red, and nobody but a person can say whether that
    is right."""
    UNPROVEN = "unproven"
    SCOPE = "scope"
    SCOPE_REQUEST = "scope_request"
    SCOPE_UNKNOWN = "scope_unknown"
    QUESTION = "question"
    DELIVERY_REFUSED = "delivery_refused"
    ISSUE_EDITED = "issue_edited"
    ROUNDS = "rounds"
    SPACE_GONE = "space_gone"
    SPACE_DOUBLED = "space_doubled"


class Verb(StrEnum):
    """What an answer does. The tick carries it out."""

    RETRY = "retry"
    ONE_MORE = "one_more"
    INSTALL = "install"
    TAKE_OVER = "take_over"
    DROP = "drop"
    ADD_BUDGET = "add_budget"
    ONCE = "once"
    GRANT = "grant"
    REFUSE = "refuse"
    LIMIT = "limit"
    UNRESTRICTED = "unrestricted"
    ACCEPT = "accept"
    WITHOUT_TESTS = "without_tests"
    WRITE_TESTS = "write_tests"
    RECHECK = "recheck"
    REDELIVER = "redeliver"
    REPLY = "reply"
    ADOPT = "adopt"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A row: what is asked, what it rests on, what it blocks, and the answer once there is one."""

    id: int
    job_id: JobId | None
    """None for what is about a space as a whole."""
    kind: DecisionKind
    subject: Subject
    title: str
    body: str
    """What it rests on: facts of Overlord's; a model's or a repository's words only as quotes."""
    verbs: tuple[Verb, ...]
    """The answers offered, the suggested one first."""
    blocks: str
    created_at: datetime
    space: str = ""
    """Where it is about one as a whole."""
    session_id: str | None = None
    expires_at: datetime | None = None
    options: tuple[str, ...] = ()
    """For a question: the answers the Minion offered. For a spent budget: an amount of what it counts. For what an answer
    must be bound to as a whole (dependencies, an edited issue): its hash. For a scope that nothing says: the text's hash, and
    then what is suggested."""
    patterns: tuple[str, ...] = ()
    """For a scope request: the paths asked for."""
    head_sha: str | None = None
    state: DecisionState = DecisionState.OPEN
    verb: Verb | None = None
    answer: str = ""
    answered_by: str = ""
    answered_at: datetime | None = None
    applied: bool = False

    @property
    def suggested(self) -> tuple[str, ...]:
        """The texts that are offered with an answer in words."""
        return self.options[1:] if self.subject is Subject.SCOPE_UNKNOWN else self.options

    @property
    def digest(self) -> str:
        """What an answer is bound to: a change to anything shown makes another digest."""
        shown = [
            self.id,
            self.kind,
            self.subject,
            self.title,
            self.body,
            self.verbs,
            self.options,
            self.patterns,
            self.blocks,
            self.head_sha,
        ]
        return sha256(json.dumps(shown).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    kind: DecisionKind
    title: str
    verbs: tuple[Verb, ...]
    blocks: str = "this job"


_ENDING = (Verb.TAKE_OVER, Verb.DROP)
_WORDS_OR_ENDING = (Verb.REPLY, *_ENDING)
"""Of what another session of the job could go on with: words for it are an answer, and stand in its brief."""
_ASKED: dict[Subject, _Question] = {
    Subject.EMPTY_REPOSITORY: _Question(
        kind=DecisionKind.BLOCKER,
        title="the repository has no commits to start from",
        verbs=(Verb.RETRY, Verb.DROP),
    ),
    Subject.ENVIRONMENT: _Question(
        kind=DecisionKind.BLOCKER,
        title="the repository's environment cannot be set up",
        verbs=(Verb.RETRY, Verb.DROP),
    ),
    Subject.DEPENDENCIES: _Question(
        kind=DecisionKind.APPROVAL,
        title="the change asks for other dependencies; may they be installed?",
        verbs=(Verb.INSTALL, Verb.ONE_MORE, *_WORDS_OR_ENDING),
    ),
    Subject.DISPATCH_REFUSED: _Question(
        kind=DecisionKind.BLOCKER, title="the session cannot be started", verbs=(Verb.RETRY, Verb.DROP)
    ),
    Subject.FOUND_WORK: _Question(
        kind=DecisionKind.DECISION,
        title="the forge has work on it that this database does not know",
        verbs=(Verb.RETRY, *_ENDING),
    ),
    Subject.BLOCKED: _Question(
        kind=DecisionKind.BLOCKER,
        title="the Minion says it cannot go on",
        verbs=(Verb.RETRY, *_WORDS_OR_ENDING),
    ),
    Subject.STOPPED_SHORT: _Question(
        kind=DecisionKind.DECISION,
        title="the session ended before its work was done",
        verbs=(Verb.RETRY, *_WORDS_OR_ENDING),
    ),
    Subject.BUDGET: _Question(
        kind=DecisionKind.DECISION, title="the budget is spent", verbs=(Verb.ADD_BUDGET, *_ENDING)
    ),
    Subject.LOSSES: _Question(
        kind=DecisionKind.BLOCKER,
        title="four sessions in a row were lost to infrastructure",
        verbs=(Verb.RETRY, Verb.DROP),
    ),
    Subject.MODEL: _Question(
        kind=DecisionKind.BLOCKER, title="the model cannot be used", verbs=(Verb.RETRY, *_ENDING)
    ),
    Subject.UNTESTED: _Question(
        kind=DecisionKind.APPROVAL,
        title="no tests were found; how is the work here to be judged?",
        verbs=(Verb.WRITE_TESTS, Verb.WITHOUT_TESTS, Verb.RETRY, Verb.DROP),
        blocks="new work in this repository",
    ),
    Subject.NO_TESTS: _Question(
        kind=DecisionKind.APPROVAL,
        title="the repository has no tests to judge the change by",
        verbs=(Verb.ACCEPT, Verb.WITHOUT_TESTS, Verb.WRITE_TESTS, Verb.RECHECK, *_ENDING),
    ),
    Subject.NO_TOOLCHAIN: _Question(
        kind=DecisionKind.BLOCKER,
        title="the tests' toolchain is missing",
        verbs=(Verb.RECHECK, *_ENDING),
    ),
    Subject.CHECKS_UNAVAILABLE: _Question(
        kind=DecisionKind.BLOCKER, title="a check could not be made", verbs=(Verb.RECHECK, *_ENDING)
    ),
    Subject.ESCALATION: _Question(
        kind=DecisionKind.DECISION,
        title="the last revision did not pass either",
        verbs=(Verb.ONE_MORE, Verb.GRANT, *_WORDS_OR_ENDING),
    ),
    Subject.FAILED: _Question(
        kind=DecisionKind.DECISION, title="the evaluation failed", verbs=(Verb.ONE_MORE, *_WORDS_OR_ENDING)
    ),
    Subject.PROTECTED_CHANGE: _Question(
        kind=DecisionKind.APPROVAL,
        title="the change touches what only a person may approve",
        verbs=(Verb.ACCEPT, Verb.ONE_MORE, *_WORDS_OR_ENDING),
    ),
    Subject.CHANGED_TESTS: _Question(
        kind=DecisionKind.APPROVAL,
        title="the change rewrites tests, or leaves one red; is that meant?",
        verbs=(Verb.ACCEPT, Verb.ONE_MORE, *_WORDS_OR_ENDING),
    ),
    Subject.UNPROVEN: _Question(
        kind=DecisionKind.APPROVAL,
        title="no test shows that the change does anything; is it delivered as it is?",
        verbs=(Verb.ACCEPT, Verb.ONE_MORE, *_WORDS_OR_ENDING),
    ),
    Subject.SCOPE: _Question(
        kind=DecisionKind.APPROVAL,
        title="the change goes outside its scope",
        verbs=(Verb.ONE_MORE, Verb.GRANT, *_WORDS_OR_ENDING),
    ),
    Subject.SCOPE_UNKNOWN: _Question(
        kind=DecisionKind.APPROVAL,
        title="nothing says which files may be written; which are meant?",
        verbs=(Verb.LIMIT, Verb.UNRESTRICTED, Verb.DROP),
    ),
    Subject.ROUNDS: _Question(
        kind=DecisionKind.DECISION,
        title="after two rounds there is still something to change",
        verbs=(Verb.ONE_MORE, *_WORDS_OR_ENDING),
    ),
    Subject.ISSUE_EDITED: _Question(
        kind=DecisionKind.DECISION,
        title="the issue was edited after work began; which text counts?",
        verbs=(Verb.ADOPT, Verb.KEEP, Verb.DROP),
    ),
    Subject.SPACE_GONE: _Question(
        kind=DecisionKind.BLOCKER,
        title="the repository cannot be found any more; its work is paused",
        verbs=(Verb.RETRY, Verb.DROP),
        blocks="every job of this repository",
    ),
    Subject.SPACE_DOUBLED: _Question(
        kind=DecisionKind.BLOCKER,
        title="the repository is managed by Overlord under another name; its work is paused",
        verbs=(Verb.RETRY, Verb.DROP),
        blocks="every job of this repository",
    ),
    Subject.DELIVERY_REFUSED: _Question(
        kind=DecisionKind.BLOCKER, title="the forge refused the delivery", verbs=(Verb.REDELIVER, *_ENDING)
    ),
}


def ask(
    job: Job,
    subject: Subject,
    body: str,
    *,
    at: datetime,
    patterns: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> Decision:
    """The decision a job waits for, not yet stored: kind, wording and answers follow from its subject. A grant is offered of
    `patterns` that can be granted; of a last revision that did not pass for other reasons, none is."""
    asked = _ASKED[subject]
    verbs = asked.verbs
    if never_granted(patterns) or (subject is Subject.ESCALATION and not patterns):
        verbs = tuple(verb for verb in verbs if verb is not Verb.GRANT)
    return Decision(
        id=0,
        job_id=job.id,
        kind=asked.kind,
        subject=subject,
        title=f"{job.issue_ref}: {asked.title}",
        body=body,
        verbs=verbs,
        blocks=asked.blocks,
        created_at=at,
        patterns=patterns,
        options=options,
        head_sha=job.head_sha,
    )


def never_granted(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that no grant opens to a session, however it names them."""
    return tuple(path for path in paths if is_protected(path, (path,)))


def ask_about_space(space: str, subject: Subject, body: str, *, at: datetime) -> Decision:
    """The decision a space as a whole waits for, not yet stored."""
    asked = _ASKED[subject]
    return Decision(
        id=0,
        job_id=None,
        space=space,
        kind=asked.kind,
        subject=subject,
        title=f"{space}: {asked.title}",
        body=body,
        verbs=asked.verbs,
        blocks=asked.blocks,
        created_at=at,
    )


_LABELS = {
    Verb.RETRY: "Try again",
    Verb.ONE_MORE: "One more revision",
    Verb.INSTALL: "Install and check",
    Verb.TAKE_OVER: "Take over",
    Verb.DROP: "Drop it",
    Verb.ADD_BUDGET: "Add budget",
    Verb.ONCE: "Allow once",
    Verb.GRANT: "Allow for this job",
    Verb.REFUSE: "Refuse",
    Verb.LIMIT: "Only these files",
    Verb.UNRESTRICTED: "Any file",
    Verb.ACCEPT: "Accept as it is",
    Verb.WITHOUT_TESTS: "Accept without tests",
    Verb.WRITE_TESTS: "Write tests first",
    Verb.RECHECK: "Check again",
    Verb.REDELIVER: "Deliver again",
    Verb.REPLY: "Reply",
    Verb.ADOPT: "Work on the new text",
    Verb.KEEP: "Go on with the old text",
}


def label_of(verb: Verb) -> str:
    """What a button says."""
    return _LABELS[verb]
