"""What came up again becomes a proposal: the ledger is read on from where it was read last, and what it tells of is counted.

Sightings, proposals and how far was read are one transaction: after a crash the same events are read again, and count once.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.evaluation import HYPOTHESIS, CheckScore
from overlord.domain.event import EventName
from overlord.domain.job import TERMINAL, TRANSITIONS, Job
from overlord.domain.proposals.proposal import Evidence, Pattern, Trigger, impact, is_due, propose, rationale
from overlord.domain.scope.pattern import fingerprint, normalised, normalized, of_finding
from overlord.domain.skills.record import SkillRecord
from overlord.domain.text.plain import unquoted
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.skills import lifecycle, skill_job
from overlord.failpoints import Failpoint
from overlord.settings.work import Proposals
from overlord.store import decisions, jobs, ledger
from overlord.store.checks import evaluations
from overlord.store.ledger import Entry
from overlord.store.proposals import patterns, proposals
from overlord.store.proposals.patterns import Sighting
from overlord.store.skills import drafts, skill_uses, skills
from overlord.store.spaces import work_requests

MOST_EVENTS = 100
"""Read in one step; the next one goes on."""
MOST_FINDINGS = 50
"""Of one evaluation that are counted."""
Source = Callable[[sqlite3.Connection, Entry], Iterable[Sighting]]


def is_news(connection: sqlite3.Connection) -> bool:
    """Whether something happened since the last look that may be a pattern, or the end of a proposal's work."""
    return bool(
        _news(connection, limit=1) or proposals.not_taken_up(connection) or drafts.not_taken_up(connection)
    )


def _news(connection: sqlite3.Connection, *, limit: int) -> list[Entry]:
    names = (*SOURCES, *FOLLOWED, *DECIDED)
    return ledger.named(connection, names, after=patterns.read_up_to(connection), limit=limit)


async def step(parts: Parts) -> Progress:
    """Count what happened since the last look; raise what is due, and end what is done."""
    act = partial(_weigh, parts=parts, settings=parts.settings.proposals, at=parts.clock.now())
    await parts.database.write(Failpoint.PROPOSALS_WEIGHED, act)
    return Progress.MOVED


def _weigh(connection: sqlite3.Connection, *, parts: Parts, settings: Proposals, at: datetime) -> None:
    for entry in (news := _news(connection, limit=MOST_EVENTS)):
        name = EventName(entry.name)
        for sighting in SOURCES[name](connection, entry) if name in SOURCES else ():
            if patterns.see(connection, sighting):
                _consider(connection, settings, sighting.pattern, at)
        if name in FOLLOWED:
            skill_job.follow(connection, parts, name, jobs.get(connection, entry.job_id or 0))
        if name in ENDINGS:
            _follow(connection, entry, at)
        if name in DECIDED:
            _make_use_of_room(connection, settings, entry, at)
    if news:
        patterns.note_read(connection, news[-1].seq)
    for draft in drafts.not_taken_up(connection):
        lifecycle.give_up(connection, parts, draft)
    for proposal in proposals.not_taken_up(connection):
        proposals.rest(connection, proposal, _why_not(connection, proposal.wish_id or 0), at=at)


def _consider(connection: sqlite3.Connection, settings: Proposals, seen: Pattern, at: datetime) -> None:
    """Ask for what is due, once; what is asked for already has more evidence now."""
    pattern = patterns.get(connection, seen.space, seen.fingerprint)
    evidence = patterns.evidence(connection, pattern)
    known = proposals.open_of(connection, pattern.space, pattern.fingerprint)
    if known is not None:
        if evidence.weight > known.weight or evidence.times > known.times:
            proposals.weigh(
                connection,
                known,
                weight=evidence.weight,
                times=evidence.times,
                jobs=evidence.jobs,
                issues=evidence.issues,
                rationale=rationale(known.trigger, evidence),
                impact=impact(known.trigger, evidence),
            )
        return
    if pattern.trigger is Trigger.SKILL and not _is_worse(connection, pattern):
        return
    decided = proposals.decided_last(connection, pattern.space, pattern.fingerprint)
    if not is_due(evidence.weight, threshold(settings, pattern, evidence), decided):
        return
    if proposals.pending_in(connection, pattern.space) < settings.pending:
        proposals.raise_proposal(connection, propose(pattern, evidence, at=at))


def _make_use_of_room(
    connection: sqlite3.Connection, settings: Proposals, entry: Entry, at: datetime
) -> None:
    """A person has decided one: ask for what was due while there was no room for it."""
    space = proposals.get(connection, int(str(entry.details["proposal"]))).space
    for pattern in patterns.unasked(connection, space):
        if proposals.pending_in(connection, space) >= settings.pending:
            return
        _consider(connection, settings, pattern, at)


def threshold(settings: Proposals, pattern: Pattern, evidence: Evidence) -> int | None:
    """How much evidence is enough for a pattern; None for never."""
    if evidence.is_systemic and settings.systemic:
        return 1
    return {
        Trigger.FAILURE: settings.issues,
        Trigger.BLOCKER: settings.blockers,
        Trigger.QUESTION: settings.same_answers,
        Trigger.SCOPE_REQUEST: settings.same_answers,
        Trigger.SKILL: 1,
    }[pattern.trigger]


# Where patterns are seen


def _in_evaluations(connection: sqlite3.Connection, entry: Entry) -> Iterator[Sighting]:
    """Whatever a check that did not pass holds against the work; of one that did, what the review calls systemic."""
    job = jobs.get(connection, entry.job_id or 0)
    for row in evaluations.closed(connection, job.id):
        found = [(check.score, finding) for check in row.checks for finding in check.findings]
        for score, finding in found[:MOST_FINDINGS]:
            is_sound = score in (CheckScore.PASS, CheckScore.NOT_JUDGED)
            if finding.rule == HYPOTHESIS or (is_sound and not finding.systemic):
                continue
            pattern = Pattern(
                space=job.space,
                fingerprint=of_finding(finding.check, finding.rule, finding.message),
                trigger=Trigger.FAILURE,
                label=f"{finding.check}/{finding.rule}",
                sample=finding.message,
            )
            source = f"evaluation {row.id}"
            yield _sighting(pattern, job, source, row.at, is_systemic=finding.systemic)


def _in_question(connection: sqlite3.Connection, entry: Entry) -> Iterator[Sighting]:
    """What a Minion says it cannot go on without."""
    decision = decisions.get(connection, int(json.loads(entry.data)["decision"]))
    if decision.subject is Subject.BLOCKED and decision.job_id is not None:
        job = jobs.get(connection, decision.job_id)
        yield _sighting(_blocker(job, decision), job, f"decision {decision.id}", decision.created_at)


def _in_answer(connection: sqlite3.Connection, entry: Entry) -> Iterator[Sighting]:
    """What people answer to a question, or to a request for scope; and a job given up over its blocker."""
    decision = decisions.get(connection, int(json.loads(entry.data)["decision"]))
    if decision.job_id is None:
        return
    job = jobs.get(connection, decision.job_id)
    source, at = f"answer {decision.id}", decision.answered_at or decision.created_at
    if decision.subject is Subject.QUESTION:
        yield _sighting(_question(job, decision), job, source, at, answer=normalized(decision.answer))
    elif decision.subject is Subject.SCOPE_REQUEST:
        answer = "refuse" if decision.verb is Verb.REFUSE else "allow"
        yield _sighting(_scope(job, decision), job, source, at, answer=answer)
    elif decision.subject is Subject.BLOCKED and decision.verb in {Verb.DROP, Verb.TAKE_OVER}:
        yield _sighting(_blocker(job, decision), job, source, at)


def _sighting(
    pattern: Pattern, job: Job, source: str, at: datetime, *, is_systemic: bool = False, answer: str = ""
) -> Sighting:
    return Sighting(
        pattern=pattern,
        source=source,
        job_id=job.id,
        issue_number=job.issue.number,
        at=at,
        is_systemic=is_systemic,
        answer=answer,
    )


def _blocker(job: Job, decision: Decision) -> Pattern:
    text = unquoted(decision.body)
    mark = fingerprint(Trigger.BLOCKER, normalised(text))
    return Pattern(space=job.space, fingerprint=mark, trigger=Trigger.BLOCKER, label="", sample=text)


def _question(job: Job, decision: Decision) -> Pattern:
    text = unquoted(decision.body)
    mark = fingerprint(Trigger.QUESTION, normalized(text))
    return Pattern(space=job.space, fingerprint=mark, trigger=Trigger.QUESTION, label="", sample=text)


def _scope(job: Job, decision: Decision) -> Pattern:
    paths = sorted(set(decision.patterns))
    mark, text = fingerprint(Trigger.SCOPE_REQUEST, *paths), ", ".join(paths)
    return Pattern(space=job.space, fingerprint=mark, trigger=Trigger.SCOPE_REQUEST, label="", sample=text)


def _in_ending(connection: sqlite3.Connection, entry: Entry) -> Iterator[Sighting]:
    """The skills a job loaded that ended and did not go well."""
    job = jobs.get(connection, entry.job_id or 0)
    for skill in skill_uses.blamed(connection, job.id):
        pattern = Pattern(
            space=job.space,
            fingerprint=_mark_of(skill),
            trigger=Trigger.SKILL,
            label=f"{skill.name} {skill.version}",
            sample=skill.name,
        )
        yield _sighting(pattern, job, f"job {job.id}", job.updated_at)


def _mark_of(skill: SkillRecord) -> str:
    """By its text: one that changed begins anew, also where it calls itself the same version."""
    return fingerprint(Trigger.SKILL, skill.name, skill.digest)


def _is_worse(connection: sqlite3.Connection, pattern: Pattern) -> bool:
    """Whether work with a skill goes worse than without, while that text is the one at base."""
    skill = skills.find(connection, pattern.space, pattern.sample)
    if skill is None or not skill.is_present or pattern.fingerprint != _mark_of(skill):
        return False
    return skill_uses.statistics(connection, skill).is_worse


DECIDED = frozenset({EventName.PROPOSAL_APPROVED, EventName.PROPOSAL_REJECTED})
"""After which one proposal less waits for a person."""
ENDINGS = frozenset(event for (_, event), state in TRANSITIONS.items() if state in TERMINAL)
SOURCES: Mapping[EventName, Source] = {
    **dict.fromkeys(
        (
            EventName.PASSED,
            EventName.PHASE_COMPLETED,
            EventName.REVISION_ORDERED,
            EventName.GATE_REACHED,
            EventName.FAILED,
            EventName.ATTEMPTS_SPENT,
            EventName.CHECKS_UNAVAILABLE,
        ),
        _in_evaluations,
    ),
    EventName.DECISION_RAISED: _in_question,
    EventName.DECISION_ANSWERED: _in_answer,
    **dict.fromkeys(ENDINGS, _in_ending),
}
"""The events that tell of a pattern, and where it is read from. Another trigger is another row."""


# What becomes of the work on a proposal's issue

FOLLOWED = ENDINGS | {EventName.DELIVERED}
"""Of a draft it is told as well that its pull request is there."""


def _follow(connection: sqlite3.Connection, entry: Entry, at: datetime) -> None:
    """The job of a proposal's issue has ended: merged, it is implemented; else it rests until a person says more."""
    job = jobs.get(connection, entry.job_id or 0)
    proposal = proposals.of_issue(connection, job.space, job.issue.number)
    if proposal is None:
        return
    if entry.name == EventName.MERGED:
        proposals.implemented(connection, proposal, issue=job.issue_ref, at=at)
    else:
        note = f"job {job.id} ended without a merge ({entry.name.replace('_', ' ')})"
        proposals.rest(connection, proposal, note, at=at)


def _why_not(connection: sqlite3.Connection, wish_id: int) -> str:
    return f"its issue was not taken up: {work_requests.get(connection, wish_id).answer}"
