"""The history of a job from its ledger: grouped by phase, with time and actor, whatever the words in it are."""

from datetime import UTC, datetime

from inline_snapshot import snapshot

from overlord.domain.decision_history import Fact, cost_lines, history_text, told
from overlord.domain.event import OVERLORD, EventName, Json

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def fact(name: str, actor: str = OVERLORD, **data: Json) -> Fact:
    return Fact(at=AT, name=name, actor=actor, data=data)


CLAIMED = fact(EventName.CLAIMED, issue="acme/calc#1", title="add() subtracts")


def test_a_gate_that_is_rejected_begins_its_phase_again() -> None:
    facts = [
        CLAIMED,
        fact(EventName.CONTRACT_TAKEN, contract="crew", source="contract: crew", phase="plan"),
        fact(EventName.PHASE_STARTED, phase="plan", roles=["architect"]),
        fact(EventName.CHECK_STARTED, session="j1-check-1"),
        fact(EventName.GATE_REACHED, gate="plan_approval", on="plan->build", fingerprint="1a2b"),
        fact(EventName.DECISION_RAISED, decision=1, gate="plan_approval", title="may it go on?"),
        fact(
            EventName.DECISION_ANSWERED,
            "cli:alice",
            decision=1,
            gate="plan_approval",
            verb="reject",
            answer="name the files",
        ),
        fact(EventName.GATE_REJECTED, "cli:alice", gate="plan_approval", next="plan", notes="name the files"),
        fact(EventName.PHASE_STARTED, phase="plan", roles=["architect"]),
        fact(EventName.ESCALATED, role="architect", to="architect", why="it cannot be done"),
        fact(EventName.PHASE_COMPLETED, phase="plan", next="build"),
        fact(EventName.WORK_REVERTED, role="backend"),
        fact(EventName.PASSED),
        fact(EventName.MERGED, "forge", pull=2),
    ]
    assert history_text(1, list(told(facts))) == snapshot("""\
Job 1, as its ledger tells it (times in UTC)

Before the first phase
  2026-03-02 09:00:00  claimed acme/calc#1: add() subtracts
  2026-03-02 09:00:00  it goes by contract crew (contract: crew)

Phase plan
  2026-03-02 09:00:00  phase plan begins: architect
  2026-03-02 09:00:00  the work is at gate plan_approval (plan->build), which
                       shows 1a2b
  2026-03-02 09:00:00  decision 1 waits for a person at gate plan_approval: may
                       it go on?
  2026-03-02 09:00:00  cli:alice: decision 1 at gate plan_approval was answered
                       with reject: name the files
  2026-03-02 09:00:00  cli:alice: gate plan_approval was rejected: back to phase
                       plan: name the files
  2026-03-02 09:00:00  phase plan begins: architect
  2026-03-02 09:00:00  handed up to architect: it cannot be done
  2026-03-02 09:00:00  phase plan is complete; build is next

Phase build
  2026-03-02 09:00:00  the work of backend is taken back; it begins again from
                       before it
  2026-03-02 09:00:00  the evaluation passed

Delivery and review
  2026-03-02 09:00:00  forge: pull request #2 was merged\
""")


def test_a_contract_of_version_1_has_its_phases_too() -> None:
    facts = [
        CLAIMED,
        fact(EventName.CONTRACT_TAKEN, contract="default", source="contract: default", phase="implement"),
        fact(EventName.SESSION_PREPARED, session="j1-work-1", kind="work", role="minion"),
    ]
    assert [item.section for item in told(facts)] == [
        "Before the first phase",
        "Before the first phase",
        "Phase implement",
    ]


def test_hostile_words_stay_in_their_line_and_no_line_is_longer_than_80() -> None:
    facts = [
        fact(
            EventName.CLAIMED,
            "github:\x1b[2Jeve\nJob 2",
            issue="a/b#1",
            title="x\x1b[31m\n\nPhase build\n" * 9,
        ),
        fact(EventName.PHASE_STARTED, phase=7, roles=[]),
        fact("made_by_a_newer_version", phase="x" * 200),
    ]
    lines = history_text(1, list(told(facts))).split("\n")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert [line for line in lines if line.startswith("Phase")] == []
    assert lines[-1].endswith("made by a newer version")


def test_what_sessions_cost_comes_last_and_is_left_out_where_none_called_a_model() -> None:
    at = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
    lines = list(
        cost_lines(at, [("j1-work-1 (architect)", "40 tokens"), ("j1-review-1", "2 tokens")], "42 tokens")
    )
    assert history_text(1, lines).splitlines()[1:] == [
        "",
        "What it cost",
        "  2026-11-27 09:30:00  j1-work-1 (architect): 40 tokens",
        "  2026-11-27 09:30:00  j1-review-1: 2 tokens",
        "  2026-11-27 09:30:00  all together: 42 tokens",
    ]
    assert list(cost_lines(at, [], "0 tokens")) == []
