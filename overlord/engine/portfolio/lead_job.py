"""What is special about the job of a lead, which plans an initiative: its contract is ours, and what it brings is a plan.

The engine's steps ask here and nowhere else: `of(parts, job)` is None for every other job. Nothing of it is delivered: approved, its plan
is gone by, and the job is over.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from minion.protocol import PortfolioBrief, PortfolioTool, ResolvedText, TaskText
from overlord.config_files import packaged
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.criteria.criterion import CriterionResult
from overlord.domain.decision import Subject, Verb
from overlord.domain.disciplines.prompts import page
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.knowledge.discipline import A_TASK, LAWS, RULES
from overlord.domain.portfolio.escalation import EscalationState
from overlord.domain.portfolio.files import layout
from overlord.domain.portfolio.graph import graph_of
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.plan_draft import PlanDraft, as_markdown, changes_nothing, gate_body, title
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.text.hidden_text import without_hidden
from overlord.domain.text.plain import count, plain_line
from overlord.engine.bootstrap import init_job
from overlord.engine.portfolio import files
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.contracts import plan_files
from overlord.store.portfolio import escalations, initiatives, plan_drafts, tasks
from overlord.store.portfolio import files as known_files
from overlord.verbs import plan

PLAN, TASKS = "plan/plan.md", "plan/tasks.md"
RECORDED = frozenset({PLAN, TASKS})
"""What the session API alone writes: what a session pushes in their place is left out."""
SOURCE = "the contract of a lead"
MOST_TOLD = 200
"""Tasks in a brief: what ended longest ago is left out."""
MOST_OVERVIEW = 6_000
_NEVER = datetime.min.replace(tzinfo=UTC)
TOOLS = (
    PortfolioTool.PROPOSE_PLAN,
    PortfolioTool.EXPLORE,
    PortfolioTool.NOTE_KNOWLEDGE,
    PortfolioTool.SEARCH_KNOWLEDGE,
    PortfolioTool.ESCALATE,
)
request_plan = plan.request_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadJob:
    """A job on an initiative's own issue."""

    initiative: Initiative

    @property
    def contract(self) -> Contract:
        """The contract it goes by: ours, whatever the repository or its settings name."""
        return _contract()


@cache
def _contract() -> Contract:
    return load_contract(packaged("portfolio/contract.yaml"), SOURCE)


async def of(parts: Parts, job: Job) -> LeadJob | None:
    """What is special about this job; None where it plans no initiative."""
    return await parts.database.read(lambda c: read(c, job))


def read(connection: sqlite3.Connection, job: Job) -> LeadJob | None:
    """The same, in one view of the database."""
    found = initiatives.of_issue(connection, job.space, job.issue.number)
    return LeadJob(initiative=found) if found is not None else None


async def is_ours(parts: Parts, job: Job) -> bool:
    """Whether it goes by a contract of ours: what it brings is no change that is tested, and nothing of the repository runs for it."""
    return await init_job.of(parts, job) is not None or await of(parts, job) is not None


def note_taken(connection: sqlite3.Connection, parts: Parts, job: Job) -> None:
    """The job of its initiative is known, in the transaction in which it takes its contract."""
    if (special := read(connection, job)) is not None:
        at = parts.clock.now()
        initiatives.change(connection, special.initiative.id, at=at, job_id=job.id, waits="")


def criteria_in(special: LeadJob | None) -> tuple[str, ...]:
    """What has to be so after its session, as it is told."""
    if special is None:
        return ()
    return ("plan_valid: the last plan that was proposed was kept, and what sent it back is heeded",)


async def judged(parts: Parts, job: Job) -> tuple[CriterionResult, ...]:
    """What is held against its work; nothing for other jobs."""
    if await of(parts, job) is None:
        return ()
    problems = await parts.database.read(lambda c: _problems(c, job))
    if not problems:
        return (CriterionResult(name="plan_valid", is_met=True, message="It is so.", file=PLAN),)
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(problems, start=1))
    result = CriterionResult(name="plan_valid", is_met=False, message=problems[0], file=PLAN, evidence=listed)
    return (result,)


def _problems(connection: sqlite3.Connection, job: Job) -> tuple[str, ...]:
    draft = plan_drafts.of_job(connection, job.id)
    if draft is None:
        return ("No plan was proposed: use propose_plan.",)
    if draft.at <= _sent_back(connection, job):
        return ("A person sent the plan back, and none was proposed since: propose it anew by their words.",)
    return draft.problems


def _sent_back(connection: sqlite3.Connection, job: Job) -> datetime:
    """When a person sent its plan back last, where nobody has approved one since."""
    gates = [item for item in decisions.answered(connection, job.id) if item.subject is Subject.GATE]
    is_back = bool(gates) and gates[-1].verb is Verb.REJECT
    return (gates[-1].answered_at if is_back else None) or _NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What its gate shows."""

    title: str
    body: str
    blocks: str


def shown(connection: sqlite3.Connection, job: Job) -> Shown | None:
    """What people are asked at its gate; None for other jobs."""
    special, draft = read(connection, job), plan_drafts.of_job(connection, job.id)
    if special is None or draft is None:
        return None
    lines = plan_drafts.lines_of(connection, draft)
    initiative = special.initiative
    name = f"{initiative.ref} {plain_line(initiative.title, limit=80)}"
    body = gate_body(draft, lines, initiative.space)
    return Shown(title=f"{name}: {title(lines)}", body=body, blocks=f"initiative {initiative.ref}")


def is_approved_before(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether its plan changes nothing of what a person approved: then nobody is asked again."""
    special, draft = read(connection, job), plan_drafts.of_job(connection, job.id)
    if special is None or draft is None or not special.initiative.plan_digest:
        return False
    return changes_nothing(draft, plan_drafts.lines_of(connection, draft))


def accept(
    connection: sqlite3.Connection, parts: Parts, job: Job, data: Mapping[str, Json], *, actor: str
) -> bool:
    """Go by its plan, and end the job: all in this transaction. False for other jobs."""
    special, draft = read(connection, job), plan_drafts.of_job(connection, job.id)
    if special is None:
        return False
    at, ref = parts.clock.now(), special.initiative.ref
    if draft is None or not draft.holds or special.initiative.has_ended:
        reason = f"{ref} is {special.initiative.state}, and a plan of it is gone by no more"
        jobs.move(connection, job.id, EventName.DROPPED, at=at, actor=actor, data=data, reason=reason)
        return True
    elsewhere = _elsewhere(connection, parts, draft, special.initiative, actor)
    accepted = plan_drafts.accept(connection, draft, actor=actor, at=at, elsewhere=elsewhere)
    told: dict[str, Json] = {**data, "initiative": ref, "tasks": accepted.tasks}
    reason = f"planned: {count(accepted.tasks, 'task')}"
    jobs.move(
        connection,
        job.id,
        EventName.PLAN_ACCEPTED,
        at=at,
        actor=actor,
        data=told,
        reason=reason,
        consultation="",
    )
    return True


def _elsewhere(
    connection: sqlite3.Connection, parts: Parts, draft: PlanDraft, initiative: Initiative, actor: str
) -> frozenset[str]:
    """The other repositories of a plan in which who approved it may not decide, as far as their name shows it: who writes in one
    repository, and a token of one, decide for that one. The operator decides for all."""
    if actor.startswith("cli:"):
        return frozenset()
    lines = plan_drafts.lines_of(connection, draft)
    others = {item.space for item in lines if item.space.casefold() != initiative.space.casefold()}
    own = set(parts.settings.approvers(initiative.space))
    others = {name for name in others if not _decides(actor, own, set(parts.settings.approvers(name)))}
    return frozenset(others)


def _decides(actor: str, own: set[str], there: set[str]) -> bool:
    """Whether who approved is an approver of another repository: by name, or because in the chat approvers of the one are of the other."""
    if {actor.casefold(), actor.removeprefix("slack:")} & {*there, *map(str.casefold, there)}:
        return True
    return actor.startswith("slack:") and own <= there


def files_are_behind(connection: sqlite3.Connection) -> bool:
    """Whether a plan is still to be written to its file."""
    return bool(plan_drafts.unwritten(connection))


async def write_files(parts: Parts) -> bool:
    """Write plan.md; whether there was any to write. What is in the way is told in the file's row."""
    found = await parts.database.read(plan_drafts.unwritten)
    for draft in found:
        await _write(parts, draft)
    return bool(found)


async def _write(parts: Parts, draft: PlanDraft) -> None:
    initiative = await parts.database.read(lambda c: initiatives.get(c, draft.initiative_id))
    await files.write_plan(parts, initiative, prose=draft.text, based_on=draft.base_text)
    await parts.database.write(Failpoint.PLAN_DIRECTED, lambda c: plan_drafts.mark_written(c, draft.job_id))


def refreshed(connection: sqlite3.Connection, draft: PlanDraft) -> dict[str, str]:
    """The artifacts of a plan as it is now."""
    return {PLAN: draft.text, TASKS: as_markdown(plan_drafts.lines_of(connection, draft))}


def edited(connection: sqlite3.Connection) -> list[tuple[Job, PlanDraft]]:
    """The jobs that wait at their gate with a plan that a person has changed since it was shown."""
    found = list[tuple[Job, PlanDraft]]()
    for initiative in initiatives.unfinished(connection):
        if initiative.state is not InitiativeState.PLANNING or initiative.issue_number is None:
            continue
        job = jobs.live_for(connection, initiative.space, initiative.issue_number)
        if job is None or not any(
            item.subject is Subject.GATE for item in decisions.waiting(connection, job.id)
        ):
            continue
        draft = plan_drafts.of_job(connection, job.id)
        if draft is None or not draft.holds:
            continue
        known = plan_files.of_job(connection, job.id)
        text = plan_drafts.edited_text(connection, draft)
        is_other = text != draft.text or refreshed(connection, draft)[TASKS] != known.get(TASKS)
        if is_other or not draft.is_asked:
            found.append((job, draft))
    return found


async def told(parts: Parts, job: Job) -> PortfolioBrief | None:
    """What the session of a lead is told; None for other jobs. Whoever puts notes in takes secrets out."""
    special = await of(parts, job)
    if special is None:
        return None
    return await parts.database.read(lambda c: _told(c, job, special.initiative))


def _told(connection: sqlite3.Connection, job: Job, initiative: Initiative) -> PortfolioBrief:
    present = tasks.of_initiative(connection, initiative.id)
    graph = graph_of((item.blocker_id, item.blocked_id) for item in tasks.links(connection, initiative.id))
    refs = {item.id: item.ref for item in present}
    draft = plan_drafts.of_job(connection, job.id)
    text = draft.text if draft is not None and draft.holds else plan_drafts.text_of(connection, initiative)
    return PortfolioBrief(
        briefing="\n".join(_briefing(connection, job, initiative, present)),
        initiative=f'{initiative.ref} "{plain_line(initiative.title, limit=200)}"',
        goal=_goal(connection, initiative),
        plan=text,
        tasks=tuple(
            TaskText(
                ref=item.ref,
                subject=item.subject,
                state=item.state,
                description=item.description,
                acceptance_criteria=item.acceptance_criteria,
                blocked_by=tuple(refs[row] for row in sorted(graph.get(item.id, ())) if row in refs),
                waits=item.waits,
            )
            for item in present[-MOST_TOLD:]
        ),
        resolved=tuple(
            ResolvedText(
                ref=item.ref,
                question=item.question,
                resolution=item.resolution,
                by=item.cites or item.resolved_by,
            )
            for item in escalations.of_initiative(connection, initiative.id)
            if item.state is EscalationState.RESOLVED
        ),
        discipline=_disciplines(),
        tools=TOOLS,
    )


def _disciplines() -> str:
    """How an initiative is planned, and how a task is specified."""
    specified = page("specification").text(LAWS, A_TASK, RULES)
    return f"{packaged('prompts/disciplines/lead.md')}\n\n{specified}"


def _goal(connection: sqlite3.Connection, initiative: Initiative) -> str:
    """What is wanted, and what the repository as a whole is for."""
    known = known_files.get(connection, layout.overview(initiative.space))
    overview = without_hidden(known.text).text.strip() if known is not None else ""
    paths = f"\n\nIts tasks write {', '.join(initiative.paths)}." if initiative.paths else ""
    told = f"{initiative.goal.strip()}{paths}"
    if overview:
        told += f"\n\nOVERVIEW.md of the repository:\n\n{overview[:MOST_OVERVIEW]}"
    return told


def _briefing(
    connection: sqlite3.Connection, job: Job, initiative: Initiative, present: list[Task]
) -> list[str]:
    """Where it stands, in lines of ours."""
    counts = {state: sum(item.state is state for item in present) for state in TaskState}
    done = counts[TaskState.DONE]
    all_ = sum(number for state, number in counts.items() if state is not TaskState.CANCELLED)
    lines = [f"{initiative.space}, initiative {initiative.ref}: {done} of {count(all_, 'task')} done."]
    if not initiative.plan_digest:
        lines.append("It has no approved plan. Find out what is to be done, and propose one.")
    else:
        lines.append("A person approved its plan. Look first whether it still holds.")
        if initiative.replan:
            lines.append(f"Why it is looked at again: {plain_line(initiative.replan, limit=500)}")
        lines += _since(connection, initiative, present)
    open_ = [item for item in escalations.of_initiative(connection, initiative.id) if item.is_open]
    if open_:
        lines.append(
            f"Not answered yet: {', '.join(item.ref for item in open_)}. Plan what does not depend on them."
        )
    if plan_drafts.of_job(connection, job.id) is not None:
        lines.append(
            "You proposed a plan before: what was said of it is below. Your next proposal takes its place."
        )
    return lines


def _since(connection: sqlite3.Connection, initiative: Initiative, present: list[Task]) -> list[str]:
    """What happened since the plan was approved."""
    last = plan_drafts.approved(connection, initiative.id)
    if last is None or last.approved_at is None:
        return []
    lines = list[str]()
    for state, words in (
        (TaskState.DONE, "Done since"),
        (TaskState.CANCELLED, "Cancelled since"),
    ):
        found = [
            item.ref
            for item in present
            if item.state is state and item.completed_at is not None and item.completed_at > last.approved_at
        ]
        if found:
            lines.append(f"{words}: {', '.join(found)}.")
    planned = {item.number for item in last.tasks}
    added = [
        item.ref for item in present if item.number not in planned and item.created_at > last.approved_at
    ]
    if added:
        lines.append(f"Added since: {', '.join(added)}.")
    failed = [item.ref for item in present if item.attempts and not item.has_ended]
    if failed:
        lines.append(f"Tried without a merge: {', '.join(failed)}.")
    return lines
