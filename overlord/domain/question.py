"""The questions that jobs and repositories put to people: how each subject is worded, and the answers it offers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import is_protected
from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.job import Job


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
    Subject.GATE: _Question(
        kind=DecisionKind.APPROVAL,
        title="a gate of its contract: may the work go on?",
        verbs=(Verb.APPROVE, Verb.REJECT, *_ENDING),
    ),
    Subject.DISCOVERY: _Question(
        kind=DecisionKind.QUESTION,
        title="the architect has questions about the project",
        verbs=(Verb.ACCEPT, Verb.REPLY, Verb.DROP),
    ),
    Subject.CONTRACT_INVALID: _Question(
        kind=DecisionKind.DECISION,
        title="the proposed contract does not hold, and the architect had all its tries",
        verbs=(Verb.ONE_MORE, Verb.REPLY, Verb.DROP),
    ),
    Subject.EXHAUSTED: _Question(
        kind=DecisionKind.APPROVAL,
        title="a role has used up what its contract gives it; may it have as much again?",
        verbs=(Verb.APPROVE, *_WORDS_OR_ENDING),
    ),
    Subject.SCOPE_EXPANSION: _Question(
        kind=DecisionKind.APPROVAL,
        title="the architect asks for more files for a role",
        verbs=(Verb.GRANT, *_WORDS_OR_ENDING),
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
    audience: Audience = Audience.WRITER,
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
        audience=audience,
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
