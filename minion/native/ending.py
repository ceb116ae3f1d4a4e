"""How a session's end becomes its report, whichever agent worked: finished work as it was submitted, any other end with what
there is pushed as work in progress."""

from dataclasses import replace

from minion.errors import GitFailed, Interrupted
from minion.heartbeat import Heartbeat
from minion.protocol import Outcome, Report
from minion.session import Session
from minion.tools.tool import Submission

PATIENCE_WHEN_TERMINATED_S = 5.0
LAST_WORDS = 4_000


def submitted(session: Session, beat: Heartbeat, submission: Submission) -> Report:
    """The end that a tool was called for."""
    if submission.outcome is not Outcome.COMPLETE:
        report = stopped(session, beat, submission.outcome, "", submission.summary)
        return replace(report, event=submission.event)
    return Report(
        outcome=submission.outcome,
        summary=submission.summary,
        replies=submission.replies,
        learnings=submission.learnings,
        follow_ups=submission.follow_ups,
        head=session.workspace.head,
        turns=session.turn,
        result=submission.result,
        answer=submission.answer,
    )


def no_result(said: str) -> str:
    """Why a session of a discipline comes to nothing that ended without its result."""
    return f"The worker returned no result. It said last: {said.strip()[-LAST_WORDS:] or '(nothing)'}"


def interrupted(session: Session, beat: Heartbeat, stop: Interrupted) -> Report:
    """The end that TERM or the time limit brought."""
    session.interrupts.ignore()
    if stop.reason == "terminated":
        session.session_api.patience_s = PATIENCE_WHEN_TERMINATED_S
        session.workspace.patience_s = PATIENCE_WHEN_TERMINATED_S
        return stopped(session, beat, Outcome.ERROR, stop.reason, "The session was told to stop.")
    limit_s = session.brief.limits.time_s
    return stopped(session, beat, Outcome.ERROR, stop.reason, f"The limit of {limit_s} s was reached.")


def stopped(session: Session, beat: Heartbeat, outcome: Outcome, reason: str, summary: str) -> Report:
    """An ending without finished work: what there is, is pushed as work in progress."""
    workspace = session.workspace
    message = f"Work in progress, turn {session.turn}"
    try:
        if workspace.is_ready:
            workspace.save(message)
    except GitFailed as error:
        workspace.rescue(message)
        beat.log(f"the work could not be pushed whole: {error}")
    return Report(outcome=outcome, reason=reason, summary=summary, head=workspace.head, turns=session.turn)
