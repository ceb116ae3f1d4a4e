"""Before a session of an initiative ends by itself, Overlord is asked whether it may. It is told why not at most a few times.

An end that is not the session's own, as TERM or a limit, is never held up: nothing is asked there.
"""

from minion.errors import SessionApiRefused
from minion.portfolio import IDLE_PATH, MOST_REFUSALS, StopRequest, StopVerdict
from minion.protocol import Outcome, decode, encode
from minion.session import Session

TIMEOUT_S = 120.0
"""Operators' own programs may be asked too."""
_OF_THE_REQUEST = frozenset({400, 413, 422})
"""What is wrong with what the session said, which it can say otherwise."""
_SESSION_OVER = frozenset({402, 410})


def refusal(
    session: Session,
    outcome: Outcome,
    summary: str,
    learnings: tuple[str, ...] = (),
    follow_ups: tuple[str, ...] = (),
) -> str:
    """Why the session may not end yet, in the words its model is told; empty where it may.

    Raises SessionApiRefused where the session is over, SessionApiGone and Interrupted.
    """
    portfolio, limits = session.brief.portfolio, session.brief.limits
    if portfolio is None or not portfolio.initiative:
        return ""
    if session.refusals >= MOST_REFUSALS or session.turn >= limits.turns:
        return ""  # nothing it is told could be done any more
    request = StopRequest(outcome=outcome, summary=summary, learnings=learnings, follow_ups=follow_ups)
    reasons = _reasons(session, request)
    if not reasons:
        return ""
    session.refusals += 1
    listed = "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, 1))
    return f"The session has not ended. Before it does:\n{listed}\nDo that, then end it again."


def _reasons(session: Session, request: StopRequest) -> tuple[str, ...]:
    try:
        with session.interrupts.waiting():
            answer = session.session_api.post(IDLE_PATH, encode(request), timeout_s=TIMEOUT_S)
    except SessionApiRefused as error:
        if error.status in _SESSION_OVER:
            raise
        return (str(error),) if error.status in _OF_THE_REQUEST else ()
    verdict = decode(StopVerdict, answer.body)
    return () if verdict.allowed else verdict.reasons or ("Overlord did not say what is missing.",)
