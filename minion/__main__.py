"""`python -m minion`: one session, from the brief to the report.

Exit codes, a hint for people and never evidence: 0 complete, blocked, or a check's report delivered · 2 the scope
does not parse and nothing was run · 3 ended short, and said so · 4 out of budget · 5 the session API was gone, nothing
could be reported · 6 what it was started with names no usable session API, or no environment that can be used.
"""

import os
import sys
from collections.abc import Callable, Mapping

from minion.errors import BadStart, GitFailed, Interrupted, SessionApiGone, SessionApiRefused
from minion.heartbeat import Heartbeat
from minion.interrupt import Interrupts
from minion.protocol import (
    BRIEF_PATH,
    NATIVE,
    REPORT_PATH,
    Brief,
    Outcome,
    Report,
    Scope,
    ScopeError,
    SessionKind,
    decode,
    encode,
)
from minion.start import Start

COMPLETE, BAD_SCOPE, ENDED_SHORT, OUT_OF_BUDGET, SESSION_API_GONE, BAD_ENVIRONMENT = 0, 2, 3, 4, 5, 6

_CODES = {
    Outcome.COMPLETE: COMPLETE,
    Outcome.BLOCKED: COMPLETE,
    Outcome.ERROR: ENDED_SHORT,
    Outcome.OUT_OF_BUDGET: OUT_OF_BUDGET,
}


def main(environment: Mapping[str, str]) -> int:
    """Run one session in the environment given; the exit code says how it ended."""
    interrupts = Interrupts()
    interrupts.listen()
    try:
        start = Start.read(environment, interrupts)
    except BadStart as error:
        _print_error(str(error))
        return BAD_ENVIRONMENT
    try:
        return _session(start)
    except BadStart as error:
        _print_error(str(error))
        return BAD_ENVIRONMENT
    except SessionApiGone as error:
        _print_error(str(error))
        return SESSION_API_GONE
    finally:
        start.leave()


def _session(start: Start) -> int:
    try:
        scope = _scope(start.environment)
    except ScopeError as error:
        _report(start, Report(outcome=Outcome.ERROR, reason="scope", summary=str(error)))
        return BAD_SCOPE
    try:
        with start.interrupts.waiting():
            brief = decode(Brief, start.session_api.call("GET", BRIEF_PATH).body)
    except Interrupted as stop:
        return _report(start, Report(outcome=Outcome.ERROR, reason=stop.reason))
    if brief.kind is SessionKind.SETUP:
        return _setup(start, brief)
    start.repository_environment()  # one that cannot be used ends the session before anything is run in it
    if brief.kind is SessionKind.CHECK:
        return _check(start, brief)
    if scope is None:
        _report(start, Report(outcome=Outcome.ERROR, reason="scope", summary="MINION_SCOPE is not set"))
        return BAD_SCOPE
    return _report(start, _work(start, brief, scope))


def _scope(environment: Mapping[str, str]) -> Scope | None:
    """A check session writes nothing and may come without one; a work session may not."""
    return Scope.parse(environment["MINION_SCOPE"]) if "MINION_SCOPE" in environment else None


def _check(start: Start, brief: Brief) -> int:
    from minion.checks.check import check  # a work session does not pay for it

    try:
        check(start, brief)
    except (SessionApiRefused, Interrupted) as error:
        _print_error(f"the check could not be reported: {error}")
        return ENDED_SHORT
    return COMPLETE


def _setup(start: Start, brief: Brief) -> int:
    from minion.setup.setup_session import setup

    try:
        setup(start, brief)
    except (SessionApiRefused, Interrupted) as error:
        _print_error(f"the setup could not be reported: {error}")
        return ENDED_SHORT
    return COMPLETE


def _worker(brief: Brief) -> Callable[[Start, Brief, Scope, Heartbeat], Report]:
    """What runs a work session with the agent it was given. Each is imported by those sessions alone."""
    if brief.agent.program == NATIVE:
        from minion.native.work_session import work

        return work
    return _work_with_agent


def _work_with_agent(start: Start, brief: Brief, scope: Scope, beat: Heartbeat) -> Report:
    from minion.native.work_session import prepare

    prepared = prepare(start, brief, scope)
    from minion.agents.session import work_with  # while the working copy is made, which the program waits for

    return work_with(start, prepared, beat)


def _work(start: Start, brief: Brief, scope: Scope) -> Report:
    beat = Heartbeat(start.session_api)
    beat.tells_calls = brief.traced
    try:
        return _worker(brief)(start, brief, scope, beat)
    except GitFailed as error:
        return Report(outcome=Outcome.ERROR, reason="internal", summary=f"No working copy: {error}")
    except SessionApiGone:
        raise
    except Exception as error:  # the outermost frame: whatever it is, it is written down and reported
        import traceback  # 13 ms that only a crash pays

        beat.log(traceback.format_exc())
        traceback.print_exc()
        return Report(outcome=Outcome.ERROR, reason="internal", summary=f"{type(error).__name__}: {error}")
    finally:
        start.interrupts.ignore()
        beat.stop()


def _report(start: Start, report: Report) -> int:
    _print_error(f"{report.outcome} {report.reason} after {report.turns} turns")
    try:
        start.session_api.post(REPORT_PATH, encode(report))
    except SessionApiRefused as error:
        _print_error(f"the report was not taken: {error}")
    return _CODES[report.outcome]


def _print_error(text: str) -> None:
    print(f"minion: {text}", file=sys.stderr)


if __name__ == "__main__":
    exit_code = main(os.environ)
    sys.stderr.flush()
    os._exit(
        exit_code
    )  # everything is closed; tearing the interpreter down would take longer than the report
