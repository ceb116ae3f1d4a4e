"""What a session's end means, and the names a session goes by."""

from dataclasses import replace

import pytest

from minion.protocol import AgentChoice, CheckReport, Outcome, Report, SessionKind, encode
from overlord.domain.budgets.budget import NANO, Budget, Per, Unit
from overlord.domain.job import JobId
from overlord.domain.session import (
    Ending,
    EndKind,
    SessionVerdict,
    StopReason,
    judge_ending,
    session_id,
    socket_name,
    who_worked,
    why_short,
)
from tests.records import a_brief, a_job, a_session

EXITED = Ending(kind=EndKind.EXITED, exit_code=0)


def said(outcome: Outcome, reason: str = "") -> Report:
    return Report(outcome=outcome, reason=reason)


@pytest.mark.parametrize("ending", [EXITED, *(Ending(kind=kind) for kind in EndKind)])
@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome.COMPLETE, SessionVerdict.SUBMITTED),
        (Outcome.BLOCKED, SessionVerdict.STOPPED_SHORT),
        (Outcome.ERROR, SessionVerdict.STOPPED_SHORT),
        (Outcome.OUT_OF_BUDGET, SessionVerdict.STOPPED_SHORT),
    ],
)
def test_a_report_counts_first_however_the_program_ended(
    ending: Ending, outcome: Outcome, verdict: SessionVerdict
) -> None:
    session = replace(a_session(), report=said(outcome), stop_reason=StopReason.TIME_LIMIT)
    assert judge_ending(session, ending) is verdict


@pytest.mark.parametrize(
    ("stop_reason", "kind", "verdict"),
    [
        (None, EndKind.EXITED, SessionVerdict.LOST),
        (None, EndKind.KILLED, SessionVerdict.LOST),
        (None, EndKind.LOST, SessionVerdict.LOST),
        (None, EndKind.STOPPED, SessionVerdict.LOST),
        (None, EndKind.OUT_OF_MEMORY, SessionVerdict.STOPPED_SHORT),
        (StopReason.TIME_LIMIT, EndKind.STOPPED, SessionVerdict.STOPPED_SHORT),
        (StopReason.SILENT, EndKind.STOPPED, SessionVerdict.STOPPED_SHORT),
        (StopReason.JOB_CLOSED, EndKind.STOPPED, SessionVerdict.LOST),
        (StopReason.REPORTED, EndKind.STOPPED, SessionVerdict.LOST),
    ],
)
def test_without_a_report_it_is_lost_unless_we_stopped_it_or_it_ate_its_memory(
    stop_reason: StopReason | None, kind: EndKind, verdict: SessionVerdict
) -> None:
    assert judge_ending(replace(a_session(), stop_reason=stop_reason), Ending(kind=kind)) is verdict


@pytest.mark.parametrize(
    ("stop_reason", "kind", "verdict"),
    [
        (None, EndKind.KILLED, SessionVerdict.LOST),
        (None, EndKind.EXITED, SessionVerdict.LOST),
        (StopReason.REPORTED, EndKind.STOPPED, SessionVerdict.LOST),
        (None, EndKind.STOPPED, SessionVerdict.STOPPED_SHORT),
        (StopReason.TIME_LIMIT, EndKind.STOPPED, SessionVerdict.STOPPED_SHORT),
        (StopReason.SILENT, EndKind.STOPPED, SessionVerdict.STOPPED_SHORT),
    ],
)
def test_one_that_others_told_to_stop_is_lost_and_one_that_we_told_is_not(
    stop_reason: StopReason | None, kind: EndKind, verdict: SessionVerdict
) -> None:
    told = replace(a_session(), report=said(Outcome.ERROR, "terminated"), stop_reason=stop_reason)
    assert judge_ending(told, Ending(kind=kind)) is verdict


def test_an_exit_code_is_never_evidence_of_success() -> None:
    assert judge_ending(a_session(), EXITED) is SessionVerdict.LOST


def test_a_check_report_is_no_submission() -> None:
    session = replace(a_session(kind=SessionKind.CHECK), report=CheckReport(steps=()))
    assert judge_ending(session, EXITED) is SessionVerdict.LOST


@pytest.mark.parametrize(
    ("report", "stop_reason", "kind", "why"),
    [
        (said(Outcome.OUT_OF_BUDGET), None, EndKind.EXITED, "It spent its budget of 100,000 tokens."),
        (said(Outcome.ERROR, "turn_limit"), None, EndKind.EXITED, "It used all of its turns."),
        (said(Outcome.ERROR, "tool_errors"), None, EndKind.EXITED, "Too many tool calls in a row failed."),
        (said(Outcome.ERROR, "time_limit"), None, EndKind.EXITED, "Its time was up."),
        (said(Outcome.ERROR, "terminated"), None, EndKind.EXITED, "It was told to stop."),
        (said(Outcome.ERROR, "model"), None, EndKind.EXITED, "The model gave no usable answers."),
        (said(Outcome.ERROR, "scope"), None, EndKind.EXITED, "Its scope could not be read."),
        (said(Outcome.ERROR, "internal"), None, EndKind.EXITED, "The Minion itself failed."),
        (said(Outcome.ERROR, "never heard of"), None, EndKind.EXITED, "It reported that it cannot go on."),
        (said(Outcome.BLOCKED), None, EndKind.EXITED, "It reported that it cannot go on."),
        (None, StopReason.TIME_LIMIT, EndKind.STOPPED, "Overlord stopped it after 1800 s."),
        (None, StopReason.SILENT, EndKind.STOPPED, "Overlord stopped it: no sign of life for too long."),
        (None, None, EndKind.OUT_OF_MEMORY, "It ended without a report: out of memory."),
    ],
)
def test_why_it_stopped_short_is_one_sentence(
    report: Report | None, stop_reason: StopReason | None, kind: EndKind, why: str
) -> None:
    session = replace(a_session(), report=report, stop_reason=stop_reason)
    assert why_short(session, Ending(kind=kind)) == why


def test_the_budget_that_was_spent_is_named() -> None:
    spent = Budget(per=Per.DAY, unit=Unit.USD, limit=20 * NANO)
    session = replace(a_session(), report=said(Outcome.OUT_OF_BUDGET), exhausted=spent)
    assert why_short(session, EXITED) == f"Spent: {spent.describe()}."


def test_a_session_has_a_cap_in_tokens_and_in_money_where_there_is_one() -> None:
    tokens = Budget(per=Per.SESSION, unit=Unit.TOKENS, limit=100_000)
    assert a_session().budgets == (tokens,)
    money = Budget(per=Per.SESSION, unit=Unit.USD, limit=2 * NANO)
    assert a_session(nusd_budget=2 * NANO).budgets == (tokens, money)


def test_that_overlord_stopped_it_counts_before_its_own_words() -> None:
    session = replace(
        a_session(), report=said(Outcome.ERROR, "terminated"), stop_reason=StopReason.TIME_LIMIT
    )
    assert why_short(session, EXITED) == "Overlord stopped it after 1800 s."


def test_a_session_is_named_for_its_job_kind_and_ordinal() -> None:
    assert session_id(JobId(12), SessionKind.WORK, 1) == "j12-work-1"
    assert session_id(JobId(12), SessionKind.CHECK, 2) == "j12-check-2"


def test_a_door_has_a_name_of_eight_characters_that_stays() -> None:
    names = {socket_name(f"j{number}-work-1", b"key") for number in range(500)}
    assert {len(name) for name in names} == {8}
    assert len(names) == 500
    assert (
        socket_name("j1-work-1", b"key")
        == socket_name("j1-work-1", b"key")
        != socket_name("j1-work-1", b"other")
    )


def test_who_worked_is_said_once_with_the_models_that_answered() -> None:
    job = a_job()
    ran = [
        a_session(job, agent="codex"),
        a_session(job, SessionKind.CHECK, agent="aider"),
        a_session(job, ordinal=2),
        a_session(job, ordinal=3, agent="codex"),
    ]
    answered = {"j1-work-1": ("gpt-6",), "j1-work-3": ("gpt-6", "spare"), "j1-check-1": ("other",)}
    assert who_worked(ran, answered) == ("codex with gpt-6, spare", "native")


def test_of_the_native_agent_alone_nothing_is_said() -> None:
    assert who_worked([a_session()], {"j1-work-1": ("gpt-6",)}) == ()
    assert who_worked([], {}) == ()


def test_the_model_a_session_asks_is_what_its_brief_says() -> None:
    choice = AgentChoice(name="codex", program="codex", model="gpt-6")
    told = replace(a_session(), brief=encode(a_brief(a_job(), agent=choice)).decode())
    assert (told.asks_model, a_session().asks_model, replace(told, brief="").asks_model) == ("gpt-6", "", "")
