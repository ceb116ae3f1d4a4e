"""The portfolio's rows as JSON, for people and their programs: written after each change, and never read back."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from overlord.domain.event import Json
from overlord.domain.knowledge.rule import Rule
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task

Document = dict[str, Json]
Linked = Callable[[int], Sequence[str]]
"""The tasks that a task, by its row, is linked with, as people write them."""


def space_document(space: str, initiatives: Iterable[Initiative], *, autonomy: str) -> Document:
    listed: list[Json] = [
        {
            "id": each.ref,
            "slug": each.slug,
            "title": each.title,
            "status": each.state,
            "priority": each.priority,
        }
        for each in initiatives
    ]
    return {"name": space, "autonomy": autonomy, "initiatives": listed}


def initiative_document(initiative: Initiative, tasks: Sequence[Task]) -> Document:
    counts: dict[str, Json] = {}
    for task in tasks:
        known = counts.get(task.state, 0)
        counts[task.state] = (known if isinstance(known, int) else 0) + 1
    return {
        "id": initiative.ref,
        "space": initiative.space,
        "slug": initiative.slug,
        "title": initiative.title,
        "goal": initiative.goal,
        "source": initiative.source,
        "status": initiative.state,
        "priority": initiative.priority,
        "waits": initiative.waits,
        "paths": list(initiative.paths),
        "issue": initiative.issue_number,
        "job": initiative.job_id,
        "tasks": counts,
        "createdBy": initiative.actor,
        "createdAt": _time(initiative.created_at),
        "updatedAt": _time(initiative.updated_at),
        "completedAt": _time(initiative.completed_at),
    }


def task_document(task: Task, initiative: Initiative, *, blocks: Linked, blocked_by: Linked) -> Document:
    return {
        "id": task.number,
        "ref": task.ref,
        "subject": task.subject,
        "description": task.description,
        "acceptanceCriteria": list(task.acceptance_criteria),
        "status": task.state,
        "priority": task.priority,
        "labels": list(task.labels),
        "paths": list(task.paths),
        "blocks": list(blocks(task.id)),
        "blockedBy": list(blocked_by(task.id)),
        "plan": initiative.slug,
        "waits": task.waits,
        "issue": task.issue_number,
        "job": task.job_id,
        "createdBy": task.created_by,
        "createdAt": _time(task.created_at),
        "updatedAt": _time(task.updated_at),
        "completedAt": _time(task.completed_at),
        "completionNotes": task.completion_notes or None,
    }


def escalation_document(
    escalation: Escalation, *, initiative: Initiative | None, task: Task | None
) -> Document:
    suggested: list[Json] = [
        {"label": each.label, "description": each.description} for each in escalation.suggested
    ]
    return {
        "id": escalation.ref,
        "type": escalation.type,
        "kind": escalation.kind,
        "space": escalation.space,
        "initiative": initiative.slug if initiative else None,
        "question": escalation.question,
        "context": escalation.context,
        "suggestedAnswers": suggested,
        "escalatedBy": escalation.escalated_by,
        "escalationPath": list(escalation.path),
        "priority": escalation.priority,
        "blocksTask": task.ref if task else None,
        "blocksInitiative": escalation.blocks_initiative,
        "createdAt": _time(escalation.created_at),
        "status": escalation.state,
        "decision": escalation.decision_id,
        "resolution": escalation.resolution or None,
        "resolvedBy": escalation.resolved_by or None,
        "cites": escalation.cites or None,
        "resolvedAt": _time(escalation.resolved_at),
    }


def escalation_folder(escalation: Escalation) -> str:
    """Where it lies: one that is withdrawn is over, as one that is resolved."""
    return "resolved" if escalation.state is EscalationState.WITHDRAWN else str(escalation.state)


def rules_document(rules: Iterable[Rule]) -> list[Json]:
    return [
        {
            "id": rule.ref,
            "space": rule.space or None,
            "question": rule.question,
            "words": list(rule.words),
            "answer": rule.answer,
            "createdBy": rule.actor,
            "createdAt": _time(rule.created_at),
            "expiresAt": _time(rule.expires_at),
            "revokedAt": _time(rule.revoked_at),
            "revokedBy": rule.revoked_by or None,
            "used": rule.used,
        }
        for rule in rules
    ]


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
