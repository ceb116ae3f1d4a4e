"""Ending the session: done, or blocked. Finished work is committed and pushed before it is called finished."""

from collections.abc import Sequence

from minion.errors import GitFailed, ToolError
from minion.protocol import Bootstrap, Outcome, Terms
from minion.session import Session
from minion.tools.tool import Kind, Parameter, Submission, Tool

LISTED_PATHS = 20


def task_complete(
    session: Session,
    *,
    summary: str,
    replies: tuple[str, ...] = (),
    learnings: tuple[str, ...] = (),
    follow_ups: tuple[str, ...] = (),
    outcome: str = "done",
) -> str | Submission:
    try:
        tree = session.workspace.snapshot()
        doubt = "" if session.warned else _doubt(session, tree, outcome)
        if doubt:
            session.warned = True
            raise ToolError(f"{doubt} If this is as it should be, call task_complete again.")
        if held := _held(session, Outcome.COMPLETE, summary, learnings, follow_ups):
            return held
        session.workspace.save(summary, tree)
    except GitFailed as error:
        raise ToolError(f"The work could not be committed and pushed: {error}") from error
    return Submission(
        outcome=Outcome.COMPLETE,
        summary=summary,
        replies=replies,
        learnings=learnings,
        follow_ups=follow_ups,
        result=outcome,
    )


def _doubt(session: Session, tree: str, outcome: str) -> str:
    """What an evaluator would certainly send back."""
    terms = session.brief.terms
    if terms is not None and terms.bootstrap is Bootstrap.CONTRACT and not session.is_contract_settled:
        return (
            "No contract was proposed, or the last one is not valid. Mend its problems with propose_contract."
        )
    changed = session.workspace.changed(tree)
    if not changed and outcome == "done" and needs_change(terms):
        return "No file of the repository has changed. If the task cannot be done, use task_blocked."
    return outside_scope(session, changed)


def outside_scope(session: Session, changed: Sequence[str]) -> str:
    """The changed files that the work will be sent back for, in a sentence; empty where there are none."""
    outside = session.territory.outside(changed)
    if not outside:
        return ""
    listed = ", ".join(outside[:LISTED_PATHS]) + (", …" if len(outside) > LISTED_PATHS else "")
    return f"These changed files are outside your scope and the work will be sent back for them: {listed}. Undo them."


def needs_change(terms: Terms | None) -> bool:
    """Whether work that changes no file misses what is asked for."""
    if terms is not None and terms.bootstrap is not None:
        return False  # what it records is its work
    return terms is None or any(
        item.partition(":")[0].strip() in ("diff_non_empty", "evaluation_passed") for item in terms.criteria
    )


def _held(session: Session, outcome: Outcome, summary: str, *lists: tuple[str, ...]) -> str:
    """Why a session of the portfolio may not end yet; empty for any other."""
    if session.brief.portfolio is None:
        return ""
    from minion.tools.stopping import refusal  # few sessions are of the portfolio

    return refusal(session, outcome, summary, *lists)


def task_blocked(session: Session, *, reason: str, event: str = "needs_escalation") -> str | Submission:
    if held := _held(session, Outcome.BLOCKED, reason):
        return held
    told = "" if session.brief.terms is None else event
    return Submission(outcome=Outcome.BLOCKED, summary=reason, event=told)


TOOLS = (
    Tool(
        name="task_complete",
        meaning="The task is done: commit and push all files and end the session.",
        run=task_complete,
        parameters=(
            Parameter(name="summary", meaning="What was changed and why, for the reviewer.", required=True),
            Parameter(
                name="replies",
                meaning="For numbered findings: '2: what was done about it, or why not', one for each.",
                kind=Kind.TEXTS,
            ),
            Parameter(
                name="learnings", meaning="What the next one to work here should know.", kind=Kind.TEXTS
            ),
            Parameter(name="follow_ups", meaning="Work seen but not part of this task.", kind=Kind.TEXTS),
        ),
    ),
    Tool(
        name="task_blocked",
        meaning="The task cannot be done: end the session and hand it to a person.",
        run=task_blocked,
        parameters=(
            Parameter(name="reason", meaning="What stands in the way, and what is needed.", required=True),
        ),
    ),
)
