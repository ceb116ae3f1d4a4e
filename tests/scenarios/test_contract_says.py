"""What a contract says is so: each key of it that only a job under way shows."""

import json
import sqlite3
from typing import Any

import pytest
import yaml

from minion.protocol import Scope, SessionKind
from overlord.domain.budgets.budget import NANO, Cost, TokenUsage
from overlord.domain.decision import Audience, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, call, edit, read, run, submit, write
from overlord.store import sessions
from overlord.store.budgets import exchanges
from overlord.store.budgets.exchanges import BudgetBalance
from overlord.store.contracts import job_contracts
from tests.memory.world import MemoryWorld, made_memory_world
from tests.scenarios.test_contract_failure import begun, changed, facts
from tests.world import FIX, REPO


async def first_brief(world: MemoryWorld, text: str) -> dict[str, Any]:
    """What the first session of an issue under this contract is told."""
    await begun(world, text)
    world.model_will(blocked("stop here"))
    await world.settle()
    told: dict[str, Any] = json.loads((await world.read(sessions.get, "j1-work-1")).brief)
    return told


async def test_a_session_is_told_what_its_role_may_and_has_to_bring() -> None:
    said = {
        "commands": ["pytest"],
        "tools": ["read_file", "edit_file", "run_command"],
        "outputs": ["a change"],
        "guidance": "Keep it small.",
    }
    document = yaml.safe_load(changed("guidance", "For everybody."))
    document["roles"]["coder"] |= said
    async with made_memory_world() as world:
        terms = (await first_brief(world, yaml.safe_dump(document, sort_keys=False)))["terms"]
        assert terms["guidance"] == "For everybody.\n\nKeep it small."
        assert (terms["commands"], terms["tools"], terms["outputs"]) == (
            ["pytest"],
            said["tools"],
            ["a change"],
        )
        assert (terms["phase"], terms["inputs"], terms["criteria"]) == (
            "build",
            ["issue"],
            ["diff_non_empty"],
        )
        heard = str(world.minion_heard(0))
        assert "Keep it small." in heard and "pytest" in heard


async def test_a_session_has_its_roles_limits() -> None:
    budget = {"iterations": 2, "minutes": 7, "turns": 9, "tokens": 1234, "exhausted": "ask"}
    async with made_memory_world() as world:
        brief = await first_brief(world, changed("roles", "coder", "budget", budget))
        session = await world.read(sessions.get, "j1-work-1")
        assert (brief["limits"]["turns"], session.time_limit_s, session.token_budget) == (9, 420, 1234)


@pytest.mark.parametrize(
    "place", [("roles", "coder", "budget", "usd", 2), ("lifetime", {"hours": 2, "usd": 2})]
)
async def test_dollars_of_a_role_and_of_a_jobs_life_are_the_sessions_cap(place: tuple[Any, ...]) -> None:
    async with made_memory_world() as world:
        world.overrides["prices"] = {"scripted": {"input": 1.0, "output": 1.0}}
        await first_brief(world, changed(*place))
        assert (await world.read(sessions.get, "j1-work-1")).nusd_budget == 2_000_000_000


async def test_a_job_whose_dollars_are_spent_fails_before_another_session() -> None:
    async with made_memory_world() as world:
        world.overrides["prices"] = {"scripted": {"input": 1.0, "output": 1.0}}
        text = changed("lifetime", {"hours": 2, "usd": 5})
        await first_brief(world, text.replace("- architect\n- person", "- person"))
        balance = BudgetBalance(session="j1-work-1", job=1, space=REPO, day="2026-03-02", budgets=())

        def spend(connection: sqlite3.Connection) -> None:
            at = world.clock.now()
            number = exchanges.reserve(connection, balance, cost=Cost(tokens=10), model="m", at=at)
            assert isinstance(number, int)
            usage = TokenUsage(prompt=9, completion=1)
            exchanges.settle(connection, balance, number, usage=usage, nusd=5 * NANO, status=200, at=at)

        await world.overlord.parts.database.write("by hand", spend)
        [decision] = await world.decisions()
        await world.answer(decision, Verb.REPLY, "Go on.")
        await world.settle()
        job = await world.job()
        assert job.state is JobState.FAILED
        assert "the $5 that its contract gives it for its lifetime are spent" in job.reason


async def test_a_jobs_lifetime_counts_from_its_claim() -> None:
    async with made_memory_world() as world:
        await first_brief(world, changed("lifetime", {"hours": 5}))
        job = await world.job()
        assert (job.expires_at - job.created_at).total_seconds() == 5 * 3600


async def test_a_role_has_the_model_of_its_contract_and_an_unknown_one_is_put_to_a_person() -> None:
    async with made_memory_world() as world:
        world.overrides["models"] = {
            "default": [{"endpoint": "primary"}],
            "careful": [{"endpoint": "primary"}],
        }
        brief = await first_brief(world, changed("roles", "coder", "model", "careful"))
        assert brief["model"] == "careful"
    async with made_memory_world() as world:
        await begun(world, changed("roles", "coder", "model", "wise"))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, "asks for model 'wise'" in decision.body) == (
            Subject.DISPATCH_REFUSED,
            True,
        )


async def test_secret_paths_are_in_no_scope_and_out_of_sight() -> None:
    document = yaml.safe_load(changed("secret_paths", ["*.cfg"]))
    document["roles"]["coder"]["scope"] = ["**"]
    document["shared"] = [{"paths": ["**"], "roles": ["architect", "coder", "writer"]}]
    async with made_memory_world() as world:
        await world.push({"token.cfg": "hush"})
        await begun(world, yaml.safe_dump(document, sort_keys=False))
        world.model_will(read("token.cfg"), run("cat token.cfg; echo $?"), edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        scope = Scope.parse((await world.read(sessions.get, "j1-work-1")).scope)
        assert (scope.allows("token.cfg"), scope.allows("calc.py")) == (False, True)
        assert "hush" not in str(world.minion_heard(0)) + str(world.minion_heard(2))
        [pull] = world.forge.pulls(REPO)
        assert world.forge.files(REPO, pull.head_branch)["token.cfg"] == b"hush"


async def test_an_event_of_the_contracts_own_goes_to_whom_it_names() -> None:
    async with made_memory_world() as world:
        await begun(world, changed("events", {"unsafe": "person"}))
        world.model_will(call("task_blocked", reason="It would open a hole.", event="unsafe"))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, (await world.job()).state) == (Subject.BLOCKED, JobState.WAITING)


def with_review(**gate: Any) -> str:
    """The contract with a phase after the first, and a gate between them."""
    document = yaml.safe_load(changed("name", "gated"))
    build = document["phases"]["build"]
    document["phases"]["build"] = {
        **build,
        "criteria": ["diff_non_empty"],
        "next": {"done": "polish", "small": "ship"},
    }
    document["phases"]["build"].pop("terminal")
    document["phases"]["polish"] = {
        "actors": ["writer"],
        "inputs": ["issue"],
        "outputs": ["*.md"],
        "criteria": ["evaluation_passed"],
        "next": {"done": "ship"},
    }
    document["phases"]["ship"] = {"terminal": True}
    document["gates"]["merge"]["on"] = "ship->end"
    document["gates"]["look"] = {"on": "build->polish", "approve": "polish", "reject": "build", **gate}
    return yaml.safe_dump(document, sort_keys=False)


def built(world: MemoryWorld) -> None:
    world.model_will(edit(*FIX), submit("mended"))
    world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))


async def test_a_gate_shows_its_inputs_to_its_audience_and_keeps_what_it_showed() -> None:
    async with made_memory_world() as world:
        await begun(world, with_review(audience="approver", inputs=["*.md"]))
        built(world)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.audience is Audience.APPROVER
        assert "add() adds." in decision.body and "calc.py" in decision.body
        kept = "SELECT sha256 FROM evidence WHERE kind = 'gate'"
        [row] = await world.read(lambda c: list(c.execute(kept)))
        shown = json.loads(world.overlord.parts.evidence.get(row["sha256"]))
        assert (shown["gate"], shown["fingerprint"]) == ("look", decision.options[0])


async def test_a_role_decides_at_a_gate_that_is_its_own() -> None:
    async with made_memory_world() as world:
        await begun(world, with_review(audience="architect"))
        built(world)
        world.model_will(call("give_answer", choice="reject", text="Say it in a comment too."))
        world.model_will(edit("calc.py", "return a + b", "return a + b  # adds"), submit("said"))
        world.model_will(write("NOTES.md", "add() adds, and says so.\n"), submit("documented"))
        world.model_will(call("give_answer", choice="approve", text="Good."))
        world.model_will(write("MORE.md", "More.\n"), submit("polished"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [rejected] = await facts(world, "gate_rejected")
        assert (rejected["gate"], rejected["by"]) == ("look", "architect")
        work = [item for item in await world.read(sessions.of_job, 1) if item.kind is SessionKind.WORK]
        assert "Say it in a comment too." in str(json.loads(work[3].brief)["terms"]["feedback"])


async def test_a_phase_goes_on_by_its_outcome_and_an_unknown_one_is_sent_back() -> None:
    async with made_memory_world() as world:
        await begun(world, with_review(audience="person"))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(
            write("NOTES.md", "add() adds.\n"), call("task_complete", summary="documented", outcome="small")
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []


async def test_a_job_keeps_its_contract_when_it_is_another_one_by_now() -> None:
    async with made_memory_world() as world:
        await world.push({".nebulus/contract/contract.yaml": changed("name", "own")})
        await world.issue("add() subtracts")
        world.model_will(blocked("Plus or minus?"))
        world.model_will(call("give_answer", choice="give_up", text="Ask."))
        await world.settle()
        assert (await world.job()).contract == "own"
        await world.push({".nebulus/contract/contract.yaml": changed("name", "other")})
        [decision] = await world.decisions()
        built(world)
        await world.answer(decision, Verb.REPLY, "Plus.")
        await world.settle()
        row = await world.read(job_contracts.get, 1)
        assert row is not None and row.is_own
        assert (await world.job()).contract == "own"
        assert len(await facts(world, "contract_taken")) == 1


async def test_a_contract_of_the_repository_that_breaks_rules_is_put_to_a_person_whole() -> None:
    async with made_memory_world() as world:
        broken = changed("lifetime", None) + "strange: 1\n"
        await world.push({".nebulus/contract/contract.yaml": broken})
        await world.issue("add() subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DISPATCH_REFUSED
        assert "strange" in decision.body and ".nebulus/contract/contract.yaml:" in decision.body


async def test_a_repository_cannot_do_without_the_question_that_its_settings_want() -> None:
    document = yaml.safe_load(changed("name", "own"))
    document["roles"]["coder"]["scope"] = {"mode": "unrestricted"}
    document["shared"] = [{"paths": ["**"], "roles": ["architect", "coder", "writer"]}]
    async with made_memory_world() as world:
        world.overrides["contract"] = "approve-scope"
        world.overrides["infer_scope"] = False
        own = yaml.safe_dump(document, sort_keys=False)
        await world.push({".nebulus/contract/contract.yaml": own})
        await world.issue("add() subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.SCOPE_UNKNOWN


async def test_a_repository_has_no_more_turns_and_tokens_than_its_settings_allow() -> None:
    budget = {"iterations": 2, "minutes": 600, "turns": 9000, "tokens": 10**9, "exhausted": "ask"}
    async with made_memory_world() as world:
        await world.push({".nebulus/contract/contract.yaml": changed("roles", "coder", "budget", budget)})
        await world.issue("add() subtracts")
        world.model_will(blocked("stop here"))
        await world.settle()
        session = await world.read(sessions.get, "j1-work-1")
        settings = world.overlord.parts.settings.space(REPO)
        assert json.loads(session.brief)["limits"]["turns"] == settings.sessions.turns
        assert (session.time_limit_s, session.token_budget) == (
            settings.sessions.time_s,
            settings.budget.session_tokens,
        )
