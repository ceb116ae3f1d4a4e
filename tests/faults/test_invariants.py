"""The look at everything after a fault sees what it is for: violations made by hand are found, and an honest story has none."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from overlord.domain.decision import Verb
from overlord.domain.job import JobState
from overlord.embedded.forge.forge import AGENT
from overlord.embedded.play import blocked, edit, submit
from overlord.home import Home
from overlord.store import evidence
from tests.faults.invariants import check_world, must_hold, noted, violations
from tests.world import FIX, REPO, World, made_world

FORGED = "DROP TRIGGER ledger_is_never_changed; DROP TRIGGER ledger_is_never_shortened;"
TAMPERED = {
    "UPDATE jobs SET state = 'waiting'": "is waiting; its facts lead to in_review",
    "UPDATE jobs SET revision = 0": "its facts say 1 and 0",
    "UPDATE jobs SET losses = 2": "and 2 losses; its facts say 1 and 0",
    "UPDATE jobs SET is_open = 0": "its row says is_open=0",
    "UPDATE jobs SET pull_number = 99": "pull request 99 is not from its branch",
    "UPDATE jobs SET branch = 'minion/other'": "nobody's branch minion/issue-1",
    "UPDATE jobs SET head_sha = base_sha": "passed no evaluation",
    "UPDATE jobs SET pushed_sha = base_sha": "its branch is at",
    "UPDATE sessions SET state = 'started' WHERE id = 'j1-check-1'": "j1-check-1 is started",
    "UPDATE sessions SET cleared = 0 WHERE id = 'j1-work-1'": "j1-work-1 ended and what it held was not freed",
    "UPDATE decisions SET body = 'Something else.'": "decision 1 is not what was raised",
    "UPDATE decisions SET applied = 0": "was carried out 1 times",
    "UPDATE decisions SET state = 'open'": "decision 1 is open and was answered 1 times",
    "DELETE FROM decisions": "decision 1 is in the ledger and in no row",
    "UPDATE evaluations SET checks = replace(checks, 'evidence', 'gone')": "without a report",
    "UPDATE evaluations SET closed = 0 WHERE id = 1": "2 verdicts and 1 closed",
    "DELETE FROM evidence": "is cited and has no row",
    f"UPDATE evidence SET sha256 = '{'0' * 64}'": f"evidence {'0' * 64} is missing",
    "DELETE FROM exchanges": "times, of which 0 were metered",
    "UPDATE exchanges SET prompt = prompt - 1 WHERE id = 1": "tokens, of which",
    "UPDATE exchanges SET completion = -5": "gives something back",
    f"{FORGED} DELETE FROM ledger WHERE seq = 4": "event 4 is missing",
    f"{FORGED} UPDATE ledger SET actor = 'mallory' WHERE seq = 3": "event 3 was changed",
}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with made_world() as world:
        yield world


async def test_an_honest_story_has_none_and_each_row_changed_by_hand_is_found(world: World) -> None:
    await world.issue("add() subtracts")
    world.model_will(blocked("Which way round?"))
    world.model_will(edit("calc.py", "a * 2", "a * 3"), submit())
    world.model_will(edit("calc.py", "a * 3", "a * 2"), edit(*FIX), submit())
    await world.settle()
    [decision] = await world.decisions()
    await world.answer(decision, Verb.RETRY)
    await world.settle()
    assert (await world.job()).state is JobState.IN_REVIEW
    await check_world(world)
    replies = [seen.tokens for seen in world.model.requests if seen.status == 200]
    for change, sentence in TAMPERED.items():
        found = _after(world, change, replies)
        assert any(sentence in violation for violation in found), (change, found)


def _after(world: World, change: str, replies: Sequence[int]) -> list[str]:
    """The violations in a copy of the world's database that somebody has changed."""
    home = Home(world.root / "home")
    with closing(sqlite3.connect(home.database)) as real, closing(sqlite3.connect(":memory:")) as copy:
        real.backup(copy)
        copy.row_factory = sqlite3.Row
        copy.executescript(change)
        return violations(copy, world.forge, home, replies=replies)


def test_what_must_hold_and_does_not_is_noted_for_who_may_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "violations"
    monkeypatch.setenv("FAULT_VIOLATIONS", str(where))
    must_hold([])
    assert (noted([]), where.exists()) == ([], False)
    with pytest.raises(AssertionError, match="two jobs\nand its log"):
        must_hold(["two jobs"], "and its log")
    assert noted(["two pull requests"]) == ["two pull requests"]
    said = where.read_text()
    assert "test_what_must_hold" in said
    assert [line for line in said.splitlines() if line[0] == "-"] == ["- two jobs", "- two pull requests"]


async def test_what_is_outside_the_database_is_seen_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAULT_VIOLATIONS", raising=False)  # what is found here is meant
    await world.issue("add() subtracts")
    world.model_will(edit(*FIX), submit("the canary-7f3a sings"))
    await world.settle()
    home = Home(world.root / "home")
    [log, *_] = await world.read(evidence.exhibits, 1)
    world.overlord.parts.evidence.path(log.sha256).write_bytes(b"forged")
    (home.root / "note").write_text("canary-02bc")
    home.containers.mkdir(parents=True)
    (home.containers / "j1-work-1.started").touch()
    await world.forge.push_files(REPO, "minion/stray", {"a": "b"}, "Stray")
    issue = world.forge.issue(REPO, 1)
    world.forge.add_comment(issue, "<!-- overlord:job 1 -->", AGENT)
    await world.forge.create_pull(
        REPO, title="x", body="", head="minion/stray", base="main", draft=False, author=AGENT
    )
    world.forge.add_labels(issue, ["needs-attention"], actor="alice")
    with pytest.raises(AssertionError) as told:
        await check_world(world, canaries=["canary-7f3a", "canary-02bc"])
    for sentence in (
        f"evidence {log.sha256} was changed",
        "note holds cana…",
        f"j1-work-1 left {(home.containers / 'j1-work-1.started').relative_to(home.root)}",
        "acme/calc: nobody's branch minion/stray",
        "acme/calc: nobody's pull request 3",
        "job 1 has 2 comments on its issue",
        "its issue is labelled ['in-review', 'needs-attention']",
    ):
        assert sentence in str(told.value)


async def test_a_request_that_is_not_exactly_one_issue_is_found(world: World) -> None:
    number = await world.forge.open_issue(REPO, "Ideas")
    world.model_will(blocked("Which way round?"))
    await world.forge.comment(REPO, number, "/overlord build a page")
    await world.settle()
    assert [found for found in _after(world, "SELECT 1", []) if "request 1" in found] == []
    for change, sentence in {
        "UPDATE issue_requests SET issue_number = 1": "request 1 is in the issues [2], and its row says [1]",
        "UPDATE issue_requests SET issue_number = NULL": "request 1 was ordered and is no issue",
    }.items():
        assert sentence in _after(world, change, []), change
