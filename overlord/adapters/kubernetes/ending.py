"""What the states of a Job and its Pod say of a session's end, in the light of what is noted. Pure: no requests, no clock.

In the order that is asked: who ended it (we, the node, somebody), then with which code. A Pod that its node or the cluster
ended (`DisruptionTarget`: drained, evicted, the node gone) is lost, whatever its program's last code was, unless it had come to its end.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from overlord.adapters.kubernetes.notes import Note
from overlord.domain.session import Ending, EndKind

Object = Mapping[str, Any]
_ENDED_BY_OTHERS = {129: "HUP", 130: "INT", 137: "KILL", 143: "TERM"}
_NODE_GONE = {"DeletionByTaintManager", "DeletionByPodGC"}
_HOPELESS_AFTER = timedelta(seconds=30)
"""So long after its grace a Pod that still does not end is on a node that nobody hears from."""


def ending(
    job: Object | None, pods: Sequence[Object], note: Note, *, now: datetime, start_s: float
) -> Ending | None:
    """How a session ended; None while it goes on.

    `pods` are this Job's own. `start_s`: for so long it may take until its program runs.
    """
    if note.ending is not None:
        return note.ending
    if len(pods) > 1:
        return Ending(kind=EndKind.KILLED, detail="the cluster made a second Pod of its Job")
    if pods and (found := of_pod(pods[0], note, now=now)) is not None:
        return found
    if job is None:
        return Ending(kind=EndKind.STOPPED) if note.is_stopped else _lost("its Job is gone")
    if not pods and (found := _of_job(job, note)) is not None:
        return found
    waits_for = _waits_for(pods[0]) if pods else "the cluster makes no Pod of its Job"
    overdue = note.started_at and now.timestamp() - note.started_at > start_s
    return _lost(f"its program did not start: {waits_for}") if waits_for and overdue else None


def of_pod(pod: Object, note: Note, *, now: datetime) -> Ending | None:
    """How a Pod ended, as far as it says so itself."""
    status = pod.get("status") or {}
    terminated = _terminated(status)
    deleted_at = pod["metadata"].get("deletionTimestamp")
    disruption = _disruption(status)
    if terminated is not None:
        return _of_program(terminated, note, disruption=disruption, is_deleted=deleted_at is not None)
    if status.get("phase") == "Failed":
        why = f"{status.get('reason', '')}: {status.get('message', '')}".strip(": ")
        return (
            Ending(kind=EndKind.STOPPED) if note.is_stopped else _lost(why or disruption or "its Pod failed")
        )
    if deleted_at is None:
        return None
    is_hopeless = now > datetime.fromisoformat(deleted_at).astimezone(UTC) + _HOPELESS_AFTER
    if is_hopeless or any(reason in disruption for reason in _NODE_GONE):
        return (
            Ending(kind=EndKind.STOPPED)
            if note.is_stopped
            else _lost(disruption or "its node does not answer")
        )
    return None


def of_deleted(pod: Object, note: Note, *, now: datetime) -> Ending:
    """The end of a Pod that a watch said is gone, with the state it was last in."""
    found = of_pod(pod, note, now=now)
    if found is not None:
        return found
    if note.is_stopped:
        return Ending(kind=EndKind.STOPPED)
    disruption = _disruption(pod.get("status") or {})
    if disruption:
        return _lost(disruption)
    return Ending(kind=EndKind.KILLED, detail="somebody deleted its Pod")


def _of_program(terminated: Object, note: Note, *, disruption: str, is_deleted: bool) -> Ending:
    code, reason = int(terminated.get("exitCode", 0)), str(terminated.get("reason", ""))
    said = str(terminated.get("message", ""))[:400]
    if note.is_stopped:
        detail = "it had run out of memory" if reason == "OOMKilled" else ""
        return Ending(kind=EndKind.STOPPED, exit_code=code, detail=detail)
    if reason == "OOMKilled":
        return Ending(kind=EndKind.OUT_OF_MEMORY, exit_code=code, detail=said)
    if disruption and code != 0:
        return Ending(kind=EndKind.LOST, exit_code=code, detail=disruption)
    if reason in {"ContainerStatusUnknown", "StartError", "ContainerCannotRun"}:
        return Ending(kind=EndKind.LOST, exit_code=code, detail=f"{reason}: {said}".strip(": "))
    if is_deleted and code != 0:
        return Ending(kind=EndKind.KILLED, exit_code=code, detail="somebody deleted its Pod")
    if code in _ENDED_BY_OTHERS:
        return Ending(kind=EndKind.KILLED, exit_code=code, detail=_ENDED_BY_OTHERS[code])
    return Ending(kind=EndKind.EXITED, exit_code=code, detail=said)


def _of_job(job: Object, note: Note) -> Ending | None:
    """The end of a Job whose Pod is gone."""
    is_over = any(
        condition.get("status") == "True" and condition.get("type") in {"Failed", "Complete", "FailureTarget"}
        for condition in (job.get("status") or {}).get("conditions") or ()
    )
    if note.is_stopped and (is_over or job["spec"].get("suspend")):
        return Ending(kind=EndKind.STOPPED)
    if job["spec"].get("suspend"):
        return Ending(kind=EndKind.KILLED, detail="somebody suspended its Job") if note.job else None
    return _lost("its Pod is gone") if is_over else None


def is_never_started(job: Object, note: Note) -> bool:
    """Whether a Job was made and not let go: the daemon that made it ended in between."""
    return bool(job["spec"].get("suspend")) and not note.job and not note.is_stopped


def _terminated(status: Object) -> Object | None:
    for container in status.get("containerStatuses") or ():
        found = (container.get("state") or {}).get("terminated")
        if found is not None:
            return dict(found)
    return None


def _disruption(status: Object) -> str:
    """Why the cluster itself ends a Pod; empty when it does not."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return f"{condition.get('reason', '')}: {condition.get('message', '')}".strip(": ")
    return ""


def _waits_for(pod: Object) -> str:
    """What keeps a Pod's program from starting; empty once it runs."""
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        if "running" in state:
            return ""
        if waiting := state.get("waiting"):
            return f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"{condition.get('reason', '')}: {condition.get('message', '')}".strip(": ")
    return "" if status.get("phase") == "Running" else "its node has not begun it"


def _lost(detail: str) -> Ending:
    return Ending(kind=EndKind.LOST, detail=detail[:600])
