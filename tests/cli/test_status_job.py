"""`overlord status JOB`, `overlord list` and `history` of a run under a contract with a plan, a gate and the work."""

import json
import sqlite3
from typing import Any

from minion.protocol import AgentChoice, encode
from overlord.embedded.play import edit, run, submit
from overlord.home import Home
from tests.cli.conftest import Filled, Overlord
from tests.local import LocalSession
from tests.local_contract import TITLE, contract_desk, hold, will_plan
from tests.records import a_brief
from tests.stored import claim, opened, prepare
from tests.world import FIX


async def asked(user: LocalSession, *words: str) -> Any:
    said = await user.overlord(*words, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


async def test_a_job_is_shown_at_its_gate_while_its_session_runs_and_after_it() -> None:
    async with contract_desk() as user:
        will_plan(user)
        assert (await user.overlord("run", TITLE)).code == 1
        at_gate = await asked(user, "status", "1")
        assert at_gate["phase"] == {
            "name": "plan",
            "number": 1,
            "total": 3,
            "roles": [{"name": "architect", "state": "done"}],
        }
        assert (at_gate["session"], at_gate["gates"][0]["verb"]) == (None, None)
        assert at_gate["artifacts"] == [
            {"path": "plan/acceptance.md", "size": 26, "is_there": True, "is_expected": True}
        ]
        assert at_gate["waits_for"]["command"] == {"name": "answer", "arguments": ["1", "approve"]}
        [listed] = (await asked(user, "list"))["jobs"]
        assert (listed["phase"], listed["role"], listed["state"]) == ("plan", "architect", "waiting")
        shown = (await user.overlord("status", "#1")).out
        assert "roles: architect (done)" in shown and "none runs" in shown
        assert (
            "plan_approval (plan->build) waits for an answer: overlord decisions show 1 --repo .\n" in shown
        )
        user.model.will(edit(*FIX), run(hold(user)), submit("It adds."))
        assert (await user.overlord("answer", "1", "approve", "--repo", ".")).code == 0
        process = await user.start("resume")
        await user.until((user.root / "holding").exists)
        at_work = await asked(user, "status", "1")
        (user.root / "go").touch()
        assert await process.wait() == 0
        assert at_work["phase"]["roles"] == [{"name": "backend", "state": "at_work"}]
        assert at_work["session"]["id"] == "j1-work-2" and at_work["session"]["role"] == "backend"
        assert at_work["gates"][0]["verb"] == "approve" and at_work["gates"][0]["by"] == "cli:ann"
        limits = {(item["of"], item["unit"]): item["limit"] for item in at_work["budgets"]}
        assert limits["role", "sessions"] == 3 and limits["session", "turns"] == 20
        assert limits["lifetime", "hours"] == 24.0 and limits["session", "minutes"] == 30.0
        assert {"path": "calc.py", "size": None, "is_there": True, "is_expected": True} in at_work[
            "artifacts"
        ]
        assert "backend (done)" in (await user.overlord("status", "1", "--repo", ".")).out


async def test_the_history_of_a_run_has_its_phases_its_gate_and_what_each_session_cost() -> None:
    async with contract_desk() as user:
        will_plan(user)
        assert (await user.overlord("run", TITLE)).code == 1
        [past] = await asked(user, "history")
        assert (past["contract"], past["phase"]) == ("plan-then-build", "plan")
        assert "waiting for a person (plan)" in (await user.overlord("history")).out
        told = (await user.overlord("history", "--detail", "1", "--repo", ".")).out
        assert "\nPhase plan\n" in told and "the work is at gate plan_approval" in told
        cost = told.partition("\nWhat it cost\n")[2].splitlines()
        assert "j1-work-1 (architect): " in cost[0] and "all together: " in cost[-1]


def test_status_of_a_job_takes_a_number_or_an_issue_and_without_one_is_as_ever(
    filled: Filled, overlord: Overlord
) -> None:
    filled(claim)
    one = json.loads(overlord("status", "1", "--json").out)
    assert (one["job"], one["repository"], one["state"]) == (1, "acme/calc", "queued")
    assert json.loads(overlord("status", "acme/calc#7", "--json").out)["job"] == 1
    everything = json.loads(overlord("status", "--json").out)
    assert list(everything) == ["jobs", "decisions", "today", "spaces", "pauses", "models", "settings"]
    assert overlord("status", "nobody").code == 2
    assert (overlord("status", "9").code, "there is no job 9" in overlord("status", "9").err) == (4, True)


def by_codex(connection: sqlite3.Connection) -> None:
    """A job whose live session is of another agent."""
    job, choice = claim(connection), AgentChoice(name="codex", program="codex", model="gpt-6")
    told = encode(a_brief(job, agent=choice)).decode()
    prepare(connection, job, agent="codex", brief=told)


def test_a_job_says_which_agent_works_in_its_session(filled: Filled, overlord: Overlord) -> None:
    filled(by_codex)
    session = json.loads(overlord("status", "1", "--json").out)["session"]
    assert (session["agent"], session["model"]) == ("codex", "gpt-6")
    assert "session: j1-work-1 of minion by codex with gpt-6 is live" in overlord("status", "1").out
    story = json.loads(overlord("job", "show", "1", "--json").out)["story"]
    assert ([one["agent"] for one in story["sessions"]], story["worked_by"]) == (["codex"], ["codex"])
    shown = overlord("job", "show", "1").out
    assert "prepared j1-work-1 for minion with codex" in shown and " · by codex · " in shown


def test_the_list_tells_what_each_open_job_waits_for(filled: Filled, overlord: Overlord) -> None:
    filled(claim)
    [found] = json.loads(overlord("list", "--json").out)["jobs"]
    assert (found["job"], found["waits_for"]["text"], found["paused"]) == (1, "it is next", "")
    overlord("pause", "acme/calc", "--reason", "lunch")
    [found] = json.loads(overlord("list", "--json").out)["jobs"]
    assert found["paused"] == found["waits_for"]["text"]
    shown = overlord("list").out
    assert "Paused by alice" in shown and "#7" in shown
    assert overlord("job", "list").code == 0


async def test_in_a_repository_with_runs_the_list_is_of_them_or_says_that_they_are_not_in_it() -> None:
    async with contract_desk() as user:
        nothing = await user.overlord("list")
        assert nothing.code == 6, "nothing was run here, and there is no daemon's state"
        will_plan(user)
        assert (await user.overlord("run", TITLE)).code == 1
        assert "gate plan_approval" in (await user.overlord("list")).out
        assert [job["repository"] for job in (await asked(user, "list"))["jobs"]] == ["local/calc"]
        elsewhere = await user.overlord("list", cwd=user.root)
        assert elsewhere.code == 6
        async with opened(Home(user.home).database) as database:
            await database.write("by hand", claim)
        both = (await user.overlord("list")).out
        assert "acme/calc#7" in both and "plan_approval" not in both
        assert both.endswith("The local runs of this repository are not in it: `overlord list --repo .`\n")
        assert [job["repository"] for job in (await asked(user, "list"))["jobs"]] == ["acme/calc"]
        assert "local runs" not in (await user.overlord("list", cwd=user.root)).out
