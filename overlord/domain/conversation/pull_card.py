"""What people read about a job: the evidence card of the pull request, its title. Markdown, one renderer."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.protocol import NATIVE, Report, Scope, SessionKind
from overlord.command_ref import CommandRef
from overlord.domain.budgets.budget import TokenUsage, usd_text
from overlord.domain.checks.testruns.proof import UNPROVEN
from overlord.domain.checks.testruns.red import FAILING_BEFORE
from overlord.domain.checks.untested import not_judged_line
from overlord.domain.decision import Decision
from overlord.domain.evaluation import SHOWN_FIRST, CheckName, CheckScore, EvaluationResult
from overlord.domain.job import Job, JobState
from overlord.domain.review.claim import claims_line, claims_of
from overlord.domain.scope.reason import ScopeGrant, lines_now
from overlord.domain.session import Session
from overlord.domain.text.hidden_text import hidden_in
from overlord.domain.text.plain import count, plain_line
from overlord.domain.view.markdown import markdown
from overlord.domain.view.span import Bold, Code, Mark, Span
from overlord.domain.view.view import Bullets, Heading, Paragraph, Part, Quote, Table, View

MOST_HIDDEN = 10
MOST_REASONS = 12
MOST_LEFT_OUT = 10
MOST_RED = 10
MOST_AGENTS, MOST_AGENT = 5, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything a card tells of a job."""

    job: Job
    attempts: int
    evaluations: tuple[EvaluationResult, ...]
    sessions: tuple[Session, ...]
    decisions: tuple[Decision, ...]
    answered: tuple[Decision, ...]
    usage: TokenUsage
    calls: int
    work_s: float
    ledger_head: str
    models: tuple[str, ...] = ()
    """The models that answered, by name."""
    worked_by: tuple[str, ...] = ()
    """The coding agents that worked and the models that answered them, where not the native one alone did."""
    unanswered: tuple[Decision, ...] = ()
    """What nobody answered in time."""
    skills: tuple[str, ...] = ()
    skills_loaded: tuple[str, ...] = ()
    """What the last work session could load, by name and version."""
    skills_left_out: tuple[str, ...] = ()
    """Skill files of the repository it could not, each with the reason."""
    cost_nusd: int | None = None
    """Nano-dollars; None when no model it used has a price."""
    trouble: str = ""
    """What keeps its session from going on just now: its model does not answer."""
    granted: tuple[ScopeGrant, ...] = ()
    """What people let its sessions write besides."""
    turn: str = ""
    """Its phase and role, where its contract has several: `contract crew, phase build, role backend`."""

    @property
    def summary(self) -> str:
        """The Minion's own words on its last finished work."""
        reports = [session.report for session in self.sessions if isinstance(session.report, Report)]
        return reports[-1].summary if reports else ""

    @property
    def by(self) -> str:
        """Who did its work, as the end of a phrase: nothing where that was the Minion's own loop alone."""
        agents = dict.fromkeys(item.agent for item in self.sessions if item.kind is SessionKind.WORK)
        return f" by {', '.join(agents)}" if set(agents) - {NATIVE} else ""


_MARKS: Mapping[CheckScore | None, tuple[Span, ...]] = {
    CheckScore.PASS: (Mark("✅"), "pass"),
    CheckScore.FAIL: (Mark("❌"), "fail"),
    CheckScore.NEEDS_REVISION: (Mark("↩️"), "needs revision"),
    CheckScore.NOT_JUDGED: (Mark("⚠️"), "not judged"),
    None: (Mark("❔"), "not made"),
}
_STATES = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "at work",
    JobState.EVALUATING: "being evaluated",
    JobState.DELIVERING: "being delivered",
    JobState.IN_REVIEW: "in review",
    JobState.WAITING: "waiting for a person",
    JobState.COMPLETED: "merged",
    JobState.CANCELLED: "ended",
    JobState.FAILED: "failed",
}


def state_in_words(state: JobState) -> str:
    """What a job's state means to people."""
    return _STATES[state]


LEAD = "lead"
"""What the contract is called that plans go by."""


def is_planned(job: Job) -> bool:
    """Whether a job ended with a plan that was approved: nothing of it was to be merged."""
    return job.state is JobState.COMPLETED and job.pull_number is None and job.contract == LEAD


def state_of(job: Job) -> str:
    """How a job stands, for people."""
    return "planned" if is_planned(job) else state_in_words(job.state)


def pull_title(job: Job) -> str:
    """The pull request's title: the issue's, made plain."""
    return plain_line(job.issue.title, limit=120) or f"Issue {job.issue.number}"


def pull_body(story: Story) -> str:
    """The pull request's body: the closing keyword from this template only, then the evidence card."""
    return f"Closes #{story.job.issue.number}\n\n{evidence_card(story)}"


def evidence_card(story: Story) -> str:
    """The same in Markdown, for the forge."""
    return markdown(View(summary="", parts=evidence_parts(story)), _no_commands)


def _no_commands(_ref: CommandRef) -> str:
    raise AssertionError("the evidence names no command")


def evidence_parts(story: Story) -> tuple[Part, ...]:
    """What was done and what proves it."""
    parts: list[Part] = [*_first(story.evaluations)]
    parts += [Heading("What the Minion says"), Quote(story.summary)]
    parts += [Heading("What Overlord checked"), _checks(story), *_figures(story)]
    if hidden := hidden_in(story.job.issue):
        what = (
            f"The issue hid {count(len(hidden), 'text')} that people do not see; the Minion was shown where:"
        )
        parts += [Paragraph((what,)), _points(hidden[:MOST_HIDDEN])]
    parts += _skills(story)
    if lines := [*map(_answer_line, story.answered), *map(_no_answer, story.unanswered)]:
        parts.append(_points(lines))
    return tuple(parts)


def _points(lines: Iterable[str]) -> Bullets:
    return Bullets(tuple((line,) for line in lines))


def _first(evaluations: Sequence[EvaluationResult]) -> Iterator[Part]:
    """What is to be known before anything else is read."""
    if unjudged := not_judged_line(evaluations):
        yield Paragraph((_WARNS, Bold("No test was run."), f" Tests are {unjudged}."))
    checks = evaluations[-1].checks if evaluations else ()
    found = evaluations[-1].findings if evaluations else ()
    sentences = [item for item in found if item.rule in SHOWN_FIRST and item.check == CheckName.TESTS]
    red = [item.message for item in sentences if item.rule != UNPROVEN][:MOST_RED]
    if red:
        yield from (Paragraph((_WARNS, Bold("Tests that were red at base:"))), _points(red))
    for item in sentences:
        if item.rule == UNPROVEN:
            yield Paragraph((_WARNS, Bold("unproven"), f": {item.message.removeprefix('Unproven: ')}"))
    if line := claims_line(checks):
        names = [one.finding.message for one in claims_of(checks)][:MOST_RED]
        yield from (Paragraph((_WARNS, Bold(f"This {line}:"))), _points(names))
    before = [item.message for item in found if item.rule == FAILING_BEFORE]
    if before:
        what = f"{count(len(before), 'test')} failed before and after, and nothing shows that the task is about them:"
        yield from (Paragraph((what,)), _points(before[:MOST_RED]))


_WARNS = Mark("⚠️")


def where_work_is(job: Job) -> str:
    """Where what an undelivered job has changed can be seen; empty where that is its pull request, or nothing was changed."""
    if job.head_sha in {None, job.base_sha} or job.pull_number is not None or job.state in _ON_ITS_WAY:
        return ""
    return f"Its work is on the branch {job.branch}" if job.pushed_sha else "Its work was not pushed"


_ON_ITS_WAY = {JobState.QUEUED, JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING}


def _unchecked(job: Job) -> str:
    """Why there is no verdict."""
    if job.state is JobState.EVALUATING:
        return "Nothing yet: the evaluation is under way."
    if job.state in _ON_ITS_WAY:
        return "Nothing yet: the work is checked when it comes back."
    return (
        "Nothing: no work came back that could be checked."
        if job.head_sha is None
        else "Nothing was checked."
    )


def _checks(story: Story) -> Part:
    if not story.evaluations or not story.evaluations[-1].checks:
        return Paragraph((_unchecked(story.job),))
    rows = tuple(
        ((str(check.name),), _MARKS[check.score], (check.summary,)) for check in story.evaluations[-1].checks
    )
    return Table(("check", "verdict", ""), rows)


def _skills(story: Story) -> list[Part]:
    parts: list[Part] = []
    if story.skills:
        parts.append(Paragraph((f"Skills it could load: {', '.join(story.skills)}",)))
    if story.skills_loaded:
        parts.append(Paragraph((f"Skills it loaded: {', '.join(story.skills_loaded)}",)))
    if story.skills_left_out:
        parts.append(Paragraph(("Skill files of the repository that were left out:",)))
        parts.append(_points(story.skills_left_out[:MOST_LEFT_OUT]))
    return parts


def _figures(story: Story) -> list[Part]:
    job = story.job
    work = [session for session in story.sessions if session.kind is SessionKind.WORK]
    price = f" for {usd_text(story.cost_nusd)}" if story.cost_nusd is not None else ""
    tokens = f"{story.usage.total:,} tokens in {count(story.calls, 'model call')}{price}"
    facts = [
        f"job {job.id}",
        *([story.turn] if story.turn else []),
        count(len(work), "session"),
        *(f"by {plain_line(who, limit=MOST_AGENT)}" for who in story.worked_by[:MOST_AGENTS]),
        f"revision {job.revision} of {story.attempts - 1}",
        f"{story.work_s:.0f} s of work{story.by}",
        tokens,
    ]
    names = [span for model in story.models for span in (", ", Code(model))][1:]
    figures = Paragraph(
        (
            *(" · ".join(facts), *((" of ", *names) if names else ())),
            *((" · head ", Code(job.head_sha[:12])) if job.head_sha else ()),
            *(" · ledger ", Code(story.ledger_head[:12])),
        )
    )
    if not work:
        return [figures]
    reasons = scope_reasons(work[-1], story.granted)[:MOST_REASONS]
    scope = Paragraph((f"Scope: {Scope.parse(work[-1].scope).describe().replace('|', '/')}",))
    return [figures, scope, *([_points(reasons)] if reasons else [])]


def scope_reasons(session: Session, granted: Iterable[ScopeGrant]) -> tuple[str, ...]:
    """Why each pattern is in its scope: as its brief told, and what of its job's grants reached it since."""
    reasons = json.loads(session.brief).get("scope_reasons") or ()
    return lines_now(reasons, Scope.parse(session.scope), session.id, granted)


def _answer_line(decision: Decision) -> str:
    return f"{decision.answered_by} answered “{decision.title}”: {decision.answer}"


def _no_answer(decision: Decision) -> str:
    return f"Nobody answered “{decision.title}” in time; the Minion went on, and was told to say what it assumed."
