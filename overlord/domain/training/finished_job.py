"""Records of jobs that ended: what was asked, what passed, what failed, and what people did with it in the end."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.protocol import Brief
from overlord.domain.event import EventName
from overlord.domain.training.gate import size_reasons
from overlord.domain.training.record import Record, RecordKind

NOT_WANTED = frozenset(
    {
        EventName.PR_CLOSED,
        EventName.ISSUE_CLOSED,
        EventName.STOPPED,
        EventName.DROPPED,
        EventName.UNLABELLED,
    }
)
"""Endings by which people said that they do not want a job's pull request. Whoever takes a job over goes on with it."""
CUT = "\n[cut: the diff is longer than "
"""What the evidence of a diff ends with of which only the beginning was kept."""
_FENCE = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A work session of a job whose work was judged."""

    session: str
    role: str
    prompt: str
    """The task, as `task_text` says it."""
    is_passed: bool | None
    """What its evaluation came to; None where it had none, or one that could not be made."""
    summary: str = ""
    """What it reported."""
    diff: str = ""
    """What it changed; empty where that is not kept."""
    missing: str = ""
    """Why its diff is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedJob:
    """A job that ended."""

    id: int
    space: str
    ending: str
    """The event that ended it."""
    has_pull: bool
    agent: str
    model: str
    ended_on: str
    """The day, as `2026-03-02`."""
    base: str
    """The commit that its branch left its base at; empty for none."""
    attempts: Sequence[Attempt] = ()

    @property
    def is_merged(self) -> bool:
        return self.ending == EventName.MERGED


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that is not made, and why, in a few words that are counted."""

    reason: str


Made = Iterator[Record | LeftOut]


def task_text(brief: Brief) -> str:
    """What a session was asked to do, without what earlier ones got wrong, and without names of people."""
    issue = brief.issue
    parts = [f"# {issue.title}", issue.body.strip()]
    parts += [f"A comment on it:\n{comment.body.strip()}" for comment in issue.comments]
    parts += [f"It was asked: {item.question}\nThe answer: {item.answer}" for item in brief.answers]
    if brief.terms is not None:
        parts += [f"Yours is {item.name}: {item.text}" for item in brief.terms.assignments]
    parts.append(f"You may change: {brief.scope.describe()}.")
    return "\n\n".join(part for part in parts if part)


def answer_text(attempt: Attempt) -> str:
    """What a session answered: its summary, then its diff in a fence that nothing in it ends."""
    longest = max((len(run) for run in _FENCE.findall(attempt.diff)), default=2)
    fence = "`" * (longest + 1)
    diff = f"{fence}diff\n{attempt.diff.rstrip()}\n{fence}"
    return f"{attempt.summary.strip()}\n\n{diff}" if attempt.summary.strip() else diff


def records_of(job: FinishedJob, kind: RecordKind) -> Made:
    """The records that a job makes, in the order of its sessions, and what it could have made and does not."""
    for made in _MAKING[kind](job):
        reason = next(size_reasons(made), "") if isinstance(made, Record) else ""
        yield LeftOut(reason) if reason else made


def _good_answers(job: FinishedJob) -> Made:
    if not job.is_merged:
        yield LeftOut("its job was not merged")
        return
    last = {item.role: item for item in job.attempts if item.is_passed}
    if not last:
        yield LeftOut("no work of its job passed the checks, or no session of it is kept")
    for item in last.values():
        yield _answer(item, RecordKind.SFT)


def _pairs(job: FinishedJob) -> Made:
    """Attempts at one task: what failed, beside what passed after it."""
    tasks = dict[tuple[str, str], list[Attempt]]()
    for item in job.attempts:
        tasks.setdefault((item.role, item.prompt), []).append(item)
    if not any(_failed(items) for items in tasks.values()):
        yield LeftOut("nothing of its job failed before something passed")
    for items in tasks.values():
        for failed in _failed(items):
            good = next(item for item in reversed(items) if item.is_passed)
            if reason := next((_unusable(item) for item in (good, failed) if _unusable(item)), ""):
                yield LeftOut(reason)
                continue
            yield Record(
                kind=RecordKind.DPO,
                prompt=good.prompt,
                chosen=_fenced_diff(good),
                rejected=_fenced_diff(failed),
            )


def _failed(items: Sequence[Attempt]) -> list[Attempt]:
    passed = [place for place, item in enumerate(items) if item.is_passed]
    return [item for item in items[: passed[-1]] if item.is_passed is False] if passed else []


def _verdicts(job: FinishedJob) -> Made:
    if not job.is_merged and not (job.ending in NOT_WANTED and job.has_pull):
        yield LeftOut("its job had no pull request that was merged or closed")
        return
    last = {item.role: item for item in job.attempts if item.is_passed}
    if not last:
        yield LeftOut("no work of its job passed the checks, or no session of it is kept")
    for item in last.values():
        yield _answer(item, RecordKind.KTO, label=job.is_merged)


def _answer(item: Attempt, kind: RecordKind, *, label: bool = False) -> Record | LeftOut:
    if reason := _unusable(item):
        return LeftOut(reason)
    return Record(kind=kind, prompt=item.prompt, completion=answer_text(item), label=label)


def _unusable(item: Attempt) -> str:
    if not item.diff.strip():
        return item.missing or "no diff of it is kept"
    return "only the beginning of its diff is kept" if CUT in item.diff[-200:] else ""


def _fenced_diff(item: Attempt) -> str:
    """A diff alone: a summary would say which of the two is the better one."""
    return answer_text(Attempt(session="", role="", prompt="", is_passed=None, diff=item.diff))


_MAKING: Mapping[RecordKind, Callable[[FinishedJob], Made]] = {
    RecordKind.SFT: _good_answers,
    RecordKind.DPO: _pairs,
    RecordKind.KTO: _verdicts,
}
