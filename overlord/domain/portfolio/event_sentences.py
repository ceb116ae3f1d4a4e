"""Facts of the portfolio as sentences for people."""

from collections.abc import Callable, Mapping

from overlord.domain.event import EventName as E
from overlord.domain.event import Json
from overlord.domain.text.plain import count


def _number(what: Json, noun: str) -> str:
    return count(what, noun) if isinstance(what, int) else f"some {noun}s"


def _joined(what: Json) -> str:
    return "; ".join(map(str, what)) if isinstance(what, list) else str(what)


def _because(data: Mapping[str, Json]) -> str:
    return f": {data['reason']}" if data.get("reason") else ""


def _why(data: Mapping[str, Json]) -> str:
    return f" ({data['reason']})" if data.get("reason") else ""


def _cited(data: Mapping[str, Json]) -> str:
    return f" from {data['cites']}" if data.get("cites") else ""


def _retrospective(data: Mapping[str, Json]) -> str:
    if not data["notes"]:
        return "a retrospective of the job found nothing to note"
    refs = data.get("refs")
    named = f" ({', '.join(map(str, refs))})" if isinstance(refs, list) else ""
    return f"a retrospective of the job wrote {_number(data['notes'], 'note')}{named}"


SENTENCES: Mapping[E, Callable[[Mapping[str, Json]], str]] = {
    E.PLAN_ACCEPTED: lambda d: f"the plan of {d['initiative']} was approved ({_number(d['tasks'], 'task')})",
    E.PLAN_PROPOSED: lambda d: (
        f"a plan for {d['initiative']} was proposed ({_number(d['tasks'], 'task')})"
        + (f"; {_number(d['problems'], 'problem')}" if d["problems"] else "")
    ),
    E.INITIATIVE_PROPOSED: lambda d: (
        f"initiative {d['initiative']} in {d['space']} is proposed: {d['title']}"
    ),
    E.INITIATIVE_OPENED: lambda d: f"initiative {d['initiative']} in {d['space']} is wanted: {d['title']}",
    E.INITIATIVE_CHANGED: lambda d: (
        f"initiative {d['initiative']} was changed: {_joined(d['what'])}{_why(d)}"
    ),
    E.INITIATIVE_PLANNED: lambda d: (
        f"initiative {d['initiative']} goes by a plan of {_number(d['tasks'], 'task')}"
    ),
    E.INITIATIVE_COMPLETED: lambda d: f"initiative {d['initiative']} is done: {d['title']}",
    E.INITIATIVE_CANCELLED: lambda d: f"initiative {d['initiative']} was given up{_because(d)}",
    E.TASK_ADDED: lambda d: f"task {d['task']} was added: {d['subject']}",
    E.TASK_CHANGED: lambda d: f"task {d['task']} was changed: {_joined(d['what'])}{_why(d)}",
    E.TASK_ASSIGNED: lambda d: f"task {d['task']} is to be worked on",
    E.TASK_RETURNED: lambda d: f"task {d['task']} is pending again{_because(d)}",
    E.TASK_COMPLETED: lambda d: f"task {d['task']} is done",
    E.TASK_CANCELLED: lambda d: f"task {d['task']} was cancelled{_because(d)}",
    E.COMPLETION_RECORDED: lambda d: f"what was done of task {d['task']} was written down",
    E.STOP_REFUSED: lambda d: f"the session may not stop yet: {_joined(d['reasons'])}",
    E.ESCALATION_DRAFTED: lambda d: (
        f"escalation {d['escalation']} was written ({str(d['kind']).replace('_', '-')}): {d['question']}"
    ),
    E.ESCALATION_RAISED: lambda d: f"escalation {d['escalation']} is put to a person{_because(d)}",
    E.ESCALATION_CLEARED: lambda d: f"escalation {d['escalation']} is resolved{_cited(d)}: {d['resolution']}",
    E.ESCALATION_WITHDRAWN: lambda d: f"escalation {d['escalation']} needs no answer any more{_because(d)}",
    E.QUESTION_ANSWERED: lambda d: f"a question was answered{_cited(d)}: {d['answer']}",
    E.NOTE_DRAFTED: lambda d: f"note {d['note']} was written down for people to accept",
    E.NOTE_ACCEPTED: lambda d: f"note {d['note']} counts from now on",
    E.NOTE_CHANGED: lambda d: f"note {d['note']} was changed",
    E.NOTE_REJECTED: lambda d: f"note {d['note']} was rejected{_because(d)}",
    E.NOTE_WITHDRAWN: lambda d: f"note {d['note']} counts no more{_because(d)}",
    E.NOTE_CONTRADICTED: lambda d: f"note {d['note']} was contradicted: {d['text']}",
    E.RULE_ADDED: lambda d: f"rule {d['rule']} was made: {d['question']}",
    E.RULE_REVOKED: lambda d: f"rule {d['rule']} was revoked",
    E.RETROSPECTIVE_WRITTEN: _retrospective,
    E.CYCLE_RAN: lambda d: f"a cycle of the portfolio ran ({d['trigger']}): {_number(d['acts'], 'act')}",
    E.DAY_BRIEFED: lambda d: f"the briefing of {d['day']} was written",
    E.FILE_REFUSED: lambda d: f"{d['path']} cannot be read: {d['trouble']}",
}
"""By event; each takes the event's data."""
