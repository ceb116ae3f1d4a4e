"""What came of a run: its branch in the user's repository, and everything they need to judge it, in one page."""

import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from overlord.adapters.git.command import git
from overlord.domain.answers import label_of
from overlord.domain.budgets.budget import NANO, Cost, cost_text
from overlord.domain.conversation.decision_words import answer_ref
from overlord.domain.conversation.pull_card import Story, state_in_words
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobState
from overlord.domain.text.plain import count, visible
from overlord.entrypoints.invocation import command
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.checkout import Checkout
from overlord.entrypoints.local.interruption import INTERRUPTED
from overlord.entrypoints.local.place import HERE, Place
from overlord.entrypoints.local.record import Landed, Record
from overlord.entrypoints.local.screen import Screen
from overlord.entrypoints.local.transfer import bring_back
from overlord.entrypoints.terminal.show import line, show_text, table
from overlord.errors import GitFailed
from overlord.queries.job_story import story_of
from overlord.settings.load import Settings, contract_for
from overlord.store.database import open_reader
from overlord.verbs.typed_words import after_overlord

REFUSED = 5
"""The exit code where a run passed, and could not be merged as things stand."""
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A run at rest, as it is told."""

    place: Place
    record: Record
    job: Job
    story: Story
    interrupted: bool = False
    merged: str = ""
    """The sentence that says so, where its branch was merged."""
    merge_refused: str = ""
    """Why it was not, where that was asked for in advance."""
    proposed: str = ""
    """What became of the pull request, where one was asked for."""

    @property
    def landed(self) -> Landed | None:
        return self.record.result(self.job.head_sha)

    @property
    def taken_over(self) -> bool:
        return any(decision.verb is Verb.TAKE_OVER and decision.applied for decision in self.story.answered)

    @property
    def passed(self) -> bool:
        return self.job.state in {JobState.IN_REVIEW, JobState.COMPLETED}

    @property
    def code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.passed and self.merge_refused:
            return REFUSED
        return 0 if self.passed else 1


def read(place: Place, record: Record, settings: Settings, job: Job, *, interrupted: bool = False) -> Outcome:
    """The run as its database has it now."""
    with closing(open_reader(place.home.database)) as connection:
        story = story_of(connection, job, contract_for(settings, job.space))
    return Outcome(place=place, record=record, job=story.job, story=story, interrupted=interrupted)


async def deliver(outcome: Outcome) -> Outcome:
    """Put the branch of a run that passed, or that a person takes over, into the user's repository, once. Raises GitFailed.

    Where the repository was named by its address, it stays in the forge's own.
    """
    job, record, place = outcome.job, outcome.record, outcome.place
    if not (outcome.passed or outcome.taken_over) or not job.head_sha or outcome.landed:
        return outcome
    target = place.checkout or Checkout(git_dir=place.bare, common_dir=place.bare, root=None)
    branch, commit = await bring_back(
        place.home.mirror(place.repository),
        target,
        branch=job.branch,
        head=job.head_sha,
        base=job.base,
        onto=_onto(place, record, job),
    )
    landed = Landed(head=job.head_sha, branch=branch, commit=commit)
    record = records.save(place, replace(record, landed=(*record.landed, landed)))
    return replace(outcome, record=record)


def _onto(place: Place, record: Record, job: Job) -> Sha:
    """The user's own commit for the one the work began from: a run that mends another may have begun from that one's."""
    if place.checkout is None:
        return job.base
    known = (record, *records.every(place))
    return Sha(next((item.base for item in known if item.forge_base == job.base), job.base))


async def show(outcome: Outcome, screen: Screen, *, json: bool) -> None:
    """The last page of a run."""
    if json:
        screen.end(as_data(outcome))
        return
    job, story = outcome.job, outcome.story
    show_text(f"\n{_headline(outcome)}\n")
    if story.summary:
        show_text("\n".join(f"  {text}" for text in story.summary.strip().splitlines()[:20]) + "\n")
    if story.evaluations:
        rows = [
            (check.name, (check.score or "not made").replace("_", " "), check.summary)
            for check in story.evaluations[-1].checks
        ]
        table(("check", "verdict", ""), rows)
        show_text("")
    if job.head_sha and job.base_sha:
        show_text(await _diffstat(outcome))
    cost = cost_text(Cost(tokens=story.usage.total, nusd=story.cost_nusd))
    models = f" of {', '.join(map(line, story.models))}" if story.models else ""
    show_text(
        f"{cost}{models} · {story.work_s:.0f} s of work{visible(story.by)} · {count(len(story.sessions), 'session')}\n"
    )
    if outcome.proposed:
        show_text(f"{line(outcome.proposed)}\n")
    for text in _next(outcome):
        show_text(text)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """The result for programs."""
    job, story = outcome.job, outcome.story
    checks = story.evaluations[-1].checks if story.evaluations else ()
    return {
        "run": outcome.record.number,
        "job": job.id,
        "state": job.state,
        "passed": outcome.passed,
        "interrupted": outcome.interrupted,
        "reason": job.reason,
        "summary": story.summary,
        "checks": [{"check": check.name, "score": check.score, "summary": check.summary} for check in checks],
        "base": outcome.record.base,
        "branch": outcome.landed.branch if outcome.landed else "",
        "commit": outcome.landed.commit if outcome.landed else "",
        "merged": bool(outcome.merged),
        "merge_refused": outcome.merge_refused,
        "pull_request": outcome.proposed,
        "tokens": story.usage.total,
        "cost_usd": None if story.cost_nusd is None else story.cost_nusd / NANO,
        "work_s": round(story.work_s, 1),
        "decisions": [decision.id for decision in story.decisions],
        "asked": [
            {
                "decision": decision.id,
                "title": decision.title,
                "body": decision.body,
                "answers": [typed for typed, _ in _answers(decision)],
            }
            for decision in story.decisions
        ],
    }


def _headline(outcome: Outcome) -> str:
    job = outcome.job
    run = f"Run {outcome.record.number}, {line(job.issue.title)}"
    if outcome.interrupted:
        return f"{run}: stopped. Everything so far is kept."
    evidence = outcome.passed or outcome.story.evaluations or outcome.story.decisions
    reason = f" ({line(job.reason)})" if job.reason and not evidence else ""
    return f"{run}: {state_in_words(job.state)}{reason}"


async def _diffstat(outcome: Outcome) -> str:
    mirror, job = outcome.place.home.mirror(outcome.place.repository), outcome.job
    try:
        output = await git(mirror, "diff", "--stat=100", *_PLAIN_DIFF, job.base, job.head)
    except GitFailed:
        return f" The commits of its change, up to {job.head[:12]}, are not kept any more.\n"
    return output.decode(errors="replace")


def _next(outcome: Outcome) -> list[str]:
    """What the user can do now, ready to paste."""
    if outcome.interrupted:
        return ["Go on with it:", f"  {command('resume')}"]
    run, job = outcome.record.number, outcome.job.id
    lines = _branch(outcome, outcome.landed) if outcome.landed else []
    for decision in outcome.story.decisions:
        if decision.subject is Subject.UNTESTED:
            lines += [decision.body, ""]
        end = "" if decision.title.endswith("?") else "."
        lines.append(
            f"It waits for you: {line(decision.title)}{end} Answer here with `overlord resume {run}`, or with"
        )
        lines.append(f"  {command(f'decisions show {decision.id}')}")
        lines += [f"  {typed}   # {label}" for typed, label in _answers(decision)]
        lines.append(f"and then `overlord resume {run}`. The whole story:")
    lines.append(f"  {command(f'job show {job}')}")
    if outcome.landed is None and outcome.story.job.head_sha:
        lines.append(
            f"  {command(f'job diff {job}')}   # what it changed; nothing of it is in your repository"
        )
    if outcome.landed is None and outcome.story.sessions:
        lines.append(f"  {command(f'job transcript {job}')}   # what the Minion said and did")
    return lines


def _answers(decision: Decision) -> list[tuple[str, str]]:
    """The commands that answer it, each with what it does."""
    return [(command(after_overlord(answer_ref(decision, verb))), label_of(verb)) for verb in decision.verbs]


def _branch(outcome: Outcome, landed: Landed) -> list[str]:
    place = outcome.place
    branch, onto = shlex.quote(landed.branch), shlex.quote(outcome.record.onto)
    if place.checkout is None:
        return [
            f"The result is the branch {landed.branch} of {place.bare}. In a clone of yours:",
            f"  git fetch {shlex.quote(str(place.bare))} {branch} && git diff {onto}...FETCH_HEAD",
            "  git merge FETCH_HEAD",
        ]
    git_there = "git" if place.named == HERE else f"git -C {shlex.quote(place.named)}"
    if outcome.merged:
        return [outcome.merged, f"  {git_there} diff {outcome.record.base[:12]} {branch}"]
    lines = [
        f"The result is the branch {landed.branch}; your files and what you have checked out are as they were."
    ]
    if outcome.merge_refused:
        lines.append(f"It was not merged into {line(outcome.record.onto)}: {outcome.merge_refused}. By hand:")
    if landed.branch != outcome.job.branch:
        lines[:0] = [f"There is a branch {outcome.job.branch} of yours already, and it was left alone."]
    return [*lines, f"  {git_there} diff {onto}...{branch}", f"  {git_there} merge {branch}"]
