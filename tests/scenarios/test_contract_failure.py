"""Each way in which a role's work can fail under a contract, and who goes on."""

import json
from typing import Any

import yaml

from minion.protocol import SessionKind
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.onward import Nowhere, after_role
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.scope.check import Change
from overlord.embedded.play import blocked, call, edit, run, submit, write
from overlord.engine.contracts import judge, terms
from overlord.store import ledger, sessions
from overlord.store.contracts import role_notes
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import FIX, REPO

CONTRACT: dict[str, Any] = {
    "name": "pair",
    "version": 2,
    "constitution": 1,
    "lifetime": {"hours": 24},
    "escalation": ["architect", "person"],
    "roles": {
        "architect": {
            "scope": ["docs/**"],
            "verification": ["diff_non_empty"],
            "budget": {"iterations": 2, "exhausted": "ask"},
        },
        "coder": {
            "scope": ["calc.py"],
            "verification": ["diff_non_empty"],
            "budget": {"iterations": 2, "exhausted": "architect"},
        },
        "writer": {
            "scope": ["*.md"],
            "verification": [{"artifact_exists": "NOTES.md"}],
            "budget": {"iterations": 1, "exhausted": "ask"},
        },
    },
    "phases": {
        "build": {
            "actors": ["coder", "writer"],
            "inputs": ["issue"],
            "outputs": ["calc.py", "*.md"],
            "criteria": ["evaluation_passed"],
            "terminal": True,
        }
    },
    "gates": {
        "merge": {"on": "build->end", "audience": "person", "approve": "merged", "reject": "pr_closed"}
    },
}


def changed(*path_and_value: Any) -> str:
    """The contract with the value at a path replaced."""
    document = json.loads(json.dumps(CONTRACT))
    *path, last, value = path_and_value
    place = document
    for key in path:
        place = place[key]
    place[last] = value
    return yaml.safe_dump(document, sort_keys=False)


async def begun(world: MemoryWorld, text: str = "") -> None:
    """An issue under the contract."""
    world.contract(text or yaml.safe_dump(CONTRACT, sort_keys=False))
    await world.issue("add() subtracts")


async def facts(world: MemoryWorld, name: str) -> list[dict[str, Any]]:
    """What the ledger says of the events with this name."""
    entries = await world.read(lambda c: list(ledger.entries(c, job_id=1)))
    return [dict(entry.details) for entry in entries if entry.name == name]


def answers(**answer: Any) -> Any:
    return call("give_answer", **answer)


async def test_roles_work_in_turn_on_one_branch_with_a_commit_each() -> None:
    async with made_memory_world() as world:
        await begun(world)
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        job = await world.job()
        assert (job.state, job.role) == (JobState.IN_REVIEW, "writer")
        work = [item for item in await world.read(sessions.of_job, 1) if item.kind is SessionKind.WORK]
        assert [item.scope for item in work] == ['["calc.py"]', '["*.md"]']
        [pull] = world.forge.pulls(REPO)
        head = world.forge.objects.commits[job.head]
        [before] = head.parents
        assert world.forge.objects.commits[before].parents == (job.base_sha,)
        assert {"NOTES.md", "calc.py"} <= world.forge.files(REPO, pull.head_branch).keys()
        assert [item["next"] for item in await facts(world, "role_completed")] == ["writer"]


async def test_what_misses_is_taken_back_and_the_next_attempt_is_told() -> None:
    async with made_memory_world() as world:
        await begun(world, changed("roles", "coder", "budget", "diff_lines", 4))
        world.model_will(
            write("calc.py", "def add(a, b):\n    return a + b\n" + "# x\n" * 20), submit("mended")
        )
        world.model_will(edit(*FIX), submit("mended small"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        [reverted] = await facts(world, "work_reverted")
        assert (reverted["role"], reverted["to"]) == ("coder", None)
        brief = json.loads((await world.read(sessions.get, "j1-work-2")).brief)
        assert "budget has 4" in brief["findings"][0]["message"]
        assert "# x" in brief["terms"]["last_diff"]
        assert brief["head_sha"] == job.base_sha


async def test_a_role_that_is_spent_goes_to_the_architect_whose_guidance_is_told() -> None:
    async with made_memory_world() as world:
        await begun(world)
        for _ in range(2):
            world.model_will(submit("nothing to do"), submit("nothing to do"))
        world.model_will(answers(choice="guidance", text="Line 2 has the wrong sign."))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [escalated] = await facts(world, "escalated")
        assert (escalated["role"], escalated["to"]) == ("coder", "architect")
        [resolved] = await facts(world, "escalation_resolved")
        assert (resolved["by"], resolved["choice"]) == ("architect", "guidance")
        brief = json.loads((await world.read(sessions.get, "j1-work-4")).brief)
        assert "Line 2 has the wrong sign." in str(brief["terms"]["feedback"])


async def test_a_blocked_role_goes_to_the_architect_first() -> None:
    async with made_memory_world() as world:
        await begun(world)
        world.model_will(blocked("Plus or minus?"))
        world.model_will(answers(choice="guidance", text="Plus."))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []
        notes = await world.read(role_notes.of_job, 1)
        assert [(note.kind, note.role) for note in notes] == [("escalation", "coder"), ("guidance", "coder")]


async def test_more_files_for_a_role_are_a_persons_to_grant() -> None:
    async with made_memory_world() as world:
        await begun(world)
        world.model_will(blocked("I need util.py."))
        world.model_will(answers(choice="expand_scope", text="It reads it.", patterns=["util.py"]))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.patterns) == (Subject.SCOPE_EXPANSION, ("util.py",))
        world.model_will(edit(*FIX), write("util.py", "ONE = 1\n"), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.answer(decision, Verb.GRANT)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [pull] = world.forge.pulls(REPO)
        assert "util.py" in world.forge.files(REPO, pull.head_branch)


async def test_an_architect_cannot_open_what_is_protected() -> None:
    async with made_memory_world() as world:
        await begun(world)
        world.model_will(blocked("I need the contract."))
        for _ in range(2):
            world.model_will(answers(choice="expand_scope", text="so", patterns=[".nebulus/contract/**"]))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, (await world.job()).state) == (Subject.ESCALATION, JobState.WAITING)
        assert "no grant opens" in decision.body


async def test_giving_up_asks_a_person_and_where_the_contract_asks_none_ends_the_job() -> None:
    for chain, state in ((["architect", "person"], JobState.WAITING), (["architect"], JobState.FAILED)):
        async with made_memory_world() as world:
            await begun(world, changed("escalation", chain))
            world.model_will(blocked("No way."))
            world.model_will(answers(choice="give_up", text="It cannot be done."))
            await world.settle()
            assert (await world.job()).state is state


async def test_a_role_that_writes_what_is_anothers_is_handed_up_at_once() -> None:
    async with made_memory_world() as world:
        await begun(world)
        world.model_will(edit(*FIX), run("echo mine > NOTES.md"), submit("mended"), submit("mended"))
        world.model_will(answers(choice="guidance", text="Leave NOTES.md to the writer."))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        [escalated] = await facts(world, "escalated")
        assert "NOTES.md" in escalated["why"]
        assert await facts(world, "revision_ordered") == []


async def test_a_gate_lets_a_spent_role_have_as_much_again() -> None:
    async with made_memory_world() as world:
        await begun(world, changed("roles", "coder", "budget", {"iterations": 1, "exhausted": "gate"}))
        world.model_will(submit("nothing"), submit("nothing"))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.EXHAUSTED
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.answer(decision, Verb.APPROVE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_spent_role_can_end_the_job() -> None:
    async with made_memory_world() as world:
        await begun(world, changed("roles", "coder", "budget", {"iterations": 1, "exhausted": "terminate"}))
        world.model_will(submit("nothing"), submit("nothing"))
        await world.settle()
        job = await world.job()
        assert job.state is JobState.FAILED
        assert "role coder cannot go on in phase build" in job.reason


async def test_a_precondition_that_does_not_hold_is_put_to_a_person() -> None:
    async with made_memory_world() as world:
        needs = [{"artifact_exists": "vision.md"}]
        await begun(world, changed("phases", "build", "preconditions", needs))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DISPATCH_REFUSED
        assert "phase build cannot begin: artifact_exists: vision.md" in decision.body


def test_a_roles_work_is_held_against_its_budget_of_files_and_lines() -> None:
    contract = load_contract(
        changed("roles", "coder", "budget", {"exhausted": "ask", "diff_files": 1, "diff_lines": 3}), "x"
    )
    wanted = judge.Wanted(turn=Turn.in_phase(contract, "build", "coder"))
    small, large = Change(path="a", status="M", added=2, removed=1), Change(path="b", status="A", added=1)
    assert [item.is_met for item in judge.over_budget(wanted, [small])] == [True, True]
    assert [item.is_met for item in judge.over_budget(wanted, [small, large])] == [False, False]


async def test_nothing_goes_out_unjudged_when_all_that_was_left_is_blocked() -> None:
    document = yaml.safe_load(changed("name", "blocking"))
    document["phases"]["plan"] = {
        "actors": ["architect"],
        "inputs": ["issue"],
        "outputs": ["plan/**"],
        "criteria": ["diff_non_empty"],
        "next": {"done": "build"},
    }
    document["start"] = "plan"
    delegation = "assignments: {mend: {role: coder, text: Mend.}, tell: {role: writer, text: Tell.}}\n"
    async with made_memory_world() as world:
        await begun(world, yaml.safe_dump(document, sort_keys=False))
        world.model_will(write("plan/delegation.yaml", delegation), submit("planned"))
        world.model_will(write("calc.py", "def add(a, b):\n    return 0\n"), submit("mended"))
        world.model_will(blocked("Nothing to tell."))
        world.model_will(answers(choice="block", text="Leave it.", assignments={"tell": "Not needed."}))
        for _ in range(9):
            world.model_will(blocked("No."))
        await world.settle()
        judged = [item for item in await facts(world, "check_completed") if item["check"] == "tests"]
        assert [item["score"] for item in judged][:1] == ["needs_revision"]
        assert (await world.job()).state is JobState.WAITING
        assert await facts(world, "delivered") == []


async def test_a_session_that_is_blocked_takes_nothing_out_unjudged() -> None:
    document = yaml.safe_load(changed("escalation", ["person"]))
    document["phases"]["build"].pop("terminal")
    document["phases"]["build"]["next"] = {"done": "ship", "blocked": "ship"}
    document["phases"]["ship"] = {"terminal": True}
    document["gates"]["merge"]["on"] = "ship->end"
    async with made_memory_world() as world:
        await begun(world, yaml.safe_dump(document, sort_keys=False))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(blocked("I cannot."))
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, (await world.job()).state) == (Subject.BLOCKED, JobState.WAITING)


def test_an_outcome_that_leads_nowhere_is_held_against_the_session() -> None:
    document = yaml.safe_load(changed("name", "words"))
    document["phases"]["build"].pop("terminal")
    document["phases"]["build"]["next"] = {"approved": "ship", "rejected": "ship"}
    document["phases"]["ship"] = {"terminal": True}
    document["gates"]["merge"]["on"] = "ship->end"
    contract = load_contract(yaml.safe_dump(document, sort_keys=False), "x")
    coder, writer = (Turn.in_phase(contract, "build", name) for name in ("coder", "writer"))
    assert terms._outcomes(coder) == ("done", "approved", "rejected")
    assert terms._outcomes(writer) == ("approved", "rejected")
    order = contract.phase("build").actors
    assert after_role(writer, "done", order, is_round=False) == Nowhere(
        outcome="done", known=("approved", "rejected")
    )


async def test_a_word_that_no_successor_has_is_sent_back() -> None:
    document = yaml.safe_load(changed("name", "words"))
    document["phases"]["build"].pop("terminal")
    document["phases"]["build"]["next"] = {"approved": "ship"}
    document["phases"]["ship"] = {"terminal": True}
    document["gates"]["merge"]["on"] = "ship->end"
    document["roles"]["writer"]["budget"]["iterations"] = 2
    async with made_memory_world() as world:
        await begun(world, yaml.safe_dump(document, sort_keys=False))
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(
            write("NOTES.md", "add() adds.\n"),
            call("task_complete", summary="documented", outcome="done"),
            call("task_complete", summary="documented", outcome="approved"),
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_work_that_was_shown_as_a_draft_and_taken_back_to_its_start_is_made_anew() -> None:
    """Nothing of the job is left then but what was pushed: that is the job's own, and no work of an older database."""
    alone = {**CONTRACT, "roles": {"coder": CONTRACT["roles"]["coder"]}}
    alone["roles"]["coder"] = {**CONTRACT["roles"]["coder"], "budget": {"iterations": 2, "exhausted": "ask"}}
    alone["phases"] = {"build": {**CONTRACT["phases"]["build"], "actors": ["coder"], "outputs": ["calc.py"]}}
    async with made_memory_world() as world:
        world.contract(json.dumps(alone))
        await world.issue("add() subtracts")
        world.model_will(edit("calc.py", "return a - b", "return a + b + 1"), submit("one more"))
        world.model_will(edit(*FIX), submit("it adds"))
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW, await world.transcript()
        assert job.pushed_sha == job.head_sha
        assert job.branch == "minion/issue-1"
