"""A proposed contract held over past jobs: what it would have asked, refused and stopped, and never more than is known."""

from typing import Any

from overlord.domain.budgets.budget import NANO, Cost
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.replay import PastJob, PastSession, gates_on_the_way, replay
from overlord.domain.scope.check import Change
from tests.contracts import crew
from tests.records import contract


def session(**given: Any) -> PastSession:
    values = {
        "id": "j1-work-1",
        "role": "backend",
        "turns": 10,
        "seconds": 60.0,
        "cost": Cost(tokens=10, nusd=NANO),
    }
    return PastSession(**{**values, **given})


def job(*sessions: PastSession, paths: tuple[str, ...] | None = (), **given: Any) -> PastJob:
    changes = None if paths is None else tuple(Change(path=path, status="M", added=1) for path in paths)
    values = {"job": 1, "space": "acme/calc", "issue": 7, "hours": 1.0, "cost": Cost(tokens=10, nusd=NANO)}
    return PastJob(**{**values, "sessions": sessions, "changes": changes, **given})


def test_every_gate_on_the_way_would_have_asked() -> None:
    assert gates_on_the_way(crew()) == ("plan_approval", "merge")
    assert gates_on_the_way(contract()) == ("merge",)


def test_a_circle_is_gone_round_once() -> None:
    phases = {"a": {"next": {"again": "b"}}, "b": {"next": {"done": "a"}}}
    found = Contract.model_validate({"name": "x", "version": 2, "roles": {}, "phases": phases})
    assert gates_on_the_way(found) == ()


def test_files_that_no_role_may_write_are_refused_with_why() -> None:
    found = replay(crew(), job(paths=("src/api/x.py", "lib/y.py", ".env", ".github/workflows/ci.yml")))
    assert found.files == 4
    assert [(item.path, item.why) for item in found.refused] == [
        ("lib/y.py", "no role may write it"),
        (".env", "it is one of the contract's secret_paths: .env*"),
        (".github/workflows/ci.yml", "no pattern names .github/workflows, which `**` does not open"),
    ]


def test_a_rename_writes_both_names() -> None:
    moved = Change(path="src/api/b.py", old_path="lib/a.py", status="R")
    found = replay(crew(), job(changes=(moved,)))
    assert [item.path for item in found.refused] == ["lib/a.py"]


def test_a_diff_that_is_gone_is_not_an_empty_one() -> None:
    found = replay(crew(), job(paths=None))
    assert (found.files, found.refused) == (None, ())


def test_budgets_stop_what_took_more() -> None:
    long = session(turns=51, cost=Cost(tokens=10, nusd=3 * NANO))
    assert replay(crew(), job(long)).stopped == (
        "j1-work-1 took 51 turns; role backend has 50",
        "j1-work-1 took 3 USD; role backend has 2",
    )
    assert replay(crew(), job(session(turns=50))).stopped == ()


def test_a_role_the_contract_does_not_have_is_held_against_the_largest_budget() -> None:
    assert replay(crew(), job(session(role="minion", turns=60))).stopped == ()
    assert replay(crew(), job(session(role="minion", turns=61))).stopped == (
        "j1-work-1 took 61 turns; its largest budget has 60",
    )
    assert replay(contract(), job(session(turns=10_000))).stopped == (), "it has no limit of its own"


def test_what_has_no_price_is_not_held_against_dollars() -> None:
    assert replay(crew(), job(session(cost=Cost(tokens=10**9)), cost=Cost(tokens=10**9))).stopped == ()


def test_the_lifetime_stops_what_lasted_or_cost_too_long() -> None:
    found = replay(crew(), job(hours=30.5, cost=Cost(tokens=1, nusd=21 * NANO)))
    assert found.stopped == ("it took 30.5 h; a job has 24 h", "it cost $21.00; a job has 20 USD")


def test_more_sessions_than_all_phases_have_would_have_ended_it() -> None:
    most = 2 + 3 + 3 + 3
    assert replay(crew(), job(*[session()] * most)).stopped == ()
    assert replay(crew(), job(*[session()] * (most + 1))).stopped == (
        f"it took {most + 1} sessions; all phases together have {most}",
    )


def test_a_limit_of_files_counts_where_every_role_has_one() -> None:
    roles = {"one": {"scope": ["**"], "budget": {"diff_files": 2}}}
    drawn = {
        "name": "x",
        "version": 2,
        "roles": roles,
        "phases": {"a": {"actors": ["one"], "terminal": True}},
    }
    small = Contract.model_validate(drawn)
    assert replay(small, job(paths=("a", "b", "c"))).stopped == (
        "it changed 3 files; all phases together have 2",
    )
    assert replay(crew(), job(paths=tuple(f"tests/{n}.py" for n in range(99)))).stopped == ()
