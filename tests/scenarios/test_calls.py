"""Another agent calls a discipline: a session works by its page, code says what holds, and the change comes back as a patch."""

import json
import sqlite3
from datetime import datetime
from functools import partial
from typing import Any

import yaml

from overlord.domain.disciplines.call import CallResult, CallState, CallStatus
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import NoteState
from overlord.embedded.play import edit, give_result, read, run, say, write
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.disciplines import calls, history
from overlord.store.knowledge import notes
from overlord.verbs.calls import append_history, cancel_call
from tests.called import ACTOR, called, ended, request
from tests.memory.world import MemoryWorld, made_memory_world
from tests.scenarios.test_contract_failure import CONTRACT
from tests.world import REPO

CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
RED = "from calc import add\n\n\ndef test_text():\n    assert add('1', '2') == 3\n"
GREEN = "def add(a, b):\n    return int(a) + int(b)\n"
SESSION = "sess-1"


async def result_of(world: MemoryWorld, discipline: str, *turns: Any, **arguments: Any) -> CallResult:
    world.model.forget()  # two calls may be asked in the same words
    world.model_will(*turns)
    call = await called(world, discipline, **arguments)
    assert call.result is not None, call
    return call.result


async def patch_of(world: MemoryWorld, number: int) -> str:
    call = await world.read(calls.get, number)
    return world.overlord.parts.evidence.get(call.patch).decode() if call.patch else ""


async def test_red_green_and_refactor_of_one_session_each_begin_where_the_last_one_ended() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        red = await result_of(
            world,
            "tdd_red",
            write("tests/test_text.py", RED),
            give_result(message="a text is added", file_path="tests/test_text.py"),
            spec="Texts of digits are added as numbers.",
            session_id=SESSION,
        )
        assert (red.status, red.verified, red.code) == (CallStatus.PASS, True, "assertion"), red
        assert red.changed == ("tests/test_text.py",)
        assert "+    assert add('1', '2') == 3" in await patch_of(world, 1)
        green = await result_of(
            world,
            "tdd_green",
            write("calc.py", GREEN),
            give_result(message="numbers are read"),
            test_path="tests/test_text.py",
            session_id=SESSION,
        )
        assert (green.verified, green.changed) == (True, ("calc.py",)), green
        assert green.base_tree == red.head_tree
        heard = str(world.model.messages(-1))
        assert "## Session history" in heard
        assert "a text is added" in heard
        refactored = await result_of(
            world,
            "tdd_refactor",
            edit("calc.py", "return int(a) + int(b)", "numbers = int(a), int(b)\n    return sum(numbers)"),
            give_result(message="a name for the numbers"),
            test_path="tests/test_text.py",
            impl_path="calc.py",
            session_id=SESSION,
        )
        assert (refactored.verified, refactored.base_tree) == (True, green.head_tree), refactored
        kept = await world.read(partial(history.read, space=REPO, session_key=SESSION))
        assert [(entry.phase, entry.final_status, entry.verified) for entry in kept] == [
            ("red", "pass", True),
            ("green", "pass", True),
            ("refactor", "pass", True),
        ]
        told = [entry async for entry in _ended(world)]
        assert [item["verified"] for item in told] == [True, True, True]


async def _ended(world: MemoryWorld) -> Any:
    from overlord.store import ledger

    for entry in await world.read(lambda c: list(ledger.entries(c))):
        if entry.name == EventName.CALL_ENDED:
            yield json.loads(entry.data)


async def test_a_red_that_passes_already_is_not_verified_whatever_its_worker_says() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        red = await result_of(
            world,
            "tdd_red",
            write(
                "tests/test_more.py",
                "from calc import add\n\n\ndef test_more():\n    assert add(2, 2) == 4\n",
            ),
            give_result(message="verified: it fails"),
            spec="Two and two is four.",
        )
        assert (red.status, red.verified, red.code) == (CallStatus.FAIL, False, "passed"), red


async def test_code_that_a_red_changes_is_left_out() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        red = await result_of(
            world,
            "tdd_red",
            write("tests/test_text.py", RED),
            write("calc.py", GREEN),
            give_result(),
            spec="Texts of digits are added as numbers.",
        )
        assert red.changed == ("tests/test_text.py",)
        assert red.verified, red


async def test_a_green_that_breaks_another_test_is_not_verified() -> None:
    files = CALC | {"tests/test_text.py": RED}
    async with made_memory_world(files) as world:
        await world.start()
        green = await result_of(
            world,
            "tdd_green",
            write("calc.py", "def add(a, b):\n    return 3 if a == '1' else 0\n"),
            give_result(),
            test_path="tests/test_text.py",
        )
        assert (green.status, green.verified) == (CallStatus.FAIL, False), green
        assert "test_add" in green.why


async def test_a_review_counts_what_its_worker_was_shown() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        clean = {
            "runner_output": "CRITICAL: adds nothing at calc.py:2",
            "status": "fail",
            "message": "1 critical",
        }
        seen = await result_of(world, "review", read("calc.py"), give_result(**clean), files=["calc.py"])
        assert (seen.status, seen.verified) == (CallStatus.FAIL, True), seen
        unseen = await result_of(
            world, "review", read("tests/test_calc.py"), give_result(**clean), files=["calc.py"]
        )
        assert not unseen.verified, unseen
        beyond = {**clean, "runner_output": "CRITICAL: adds nothing at calc.py:99"}
        wrong = await result_of(world, "review", read("calc.py"), give_result(**beyond), files=["calc.py"])
        assert not wrong.verified, wrong


async def test_a_diagnosis_is_never_verified_and_changes_nothing() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        found = await result_of(
            world,
            "debug",
            read("calc.py"),
            give_result(runner_output="HYPOTHESIS 1", message="1"),
            error="boom",
        )
        assert (found.verified, found.changed, found.status) == (False, (), CallStatus.PASS)


async def test_a_specification_is_one_file_with_all_its_sections() -> None:
    sections = (
        "Problem statement",
        "Success criteria",
        "Constraints",
        "Out of scope",
        "Technical approach",
        "Risks",
    )
    lines = [
        f"## {name}\n\n" + ("- [ ] `add('1', '2')` is 3.\n" if "criteria" in name else "Numbers.\n")
        for name in sections
    ]
    async with made_memory_world(CALC) as world:
        await world.start()
        good = await result_of(
            world,
            "spec",
            write("docs/spec.md", "# Sums\n\n" + "\n".join(lines)),
            give_result(message="spec written: sums", file_path="docs/spec.md"),
            requirements="Add texts",
        )
        assert (good.verified, good.changed) == (True, ("docs/spec.md",)), good
        bad = await result_of(
            world,
            "spec",
            write("docs/spec.md", "# Sums\n\n" + lines[0]),
            give_result(),
            requirements="Add texts",
        )
        assert (bad.status, bad.verified) == (CallStatus.FAIL, False), bad


async def test_a_worker_without_a_result_is_an_error_and_no_loop() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        nothing = await result_of(world, "debug", *[say("I think it is fine.")] * 12, error="boom")
        assert (nothing.status, nothing.verified) == (CallStatus.ERROR, False)
        assert "gave no result" in nothing.message


async def test_a_retrospective_becomes_drafts_that_cite_what_is_there() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        await result_of(
            world,
            "debug",
            read("calc.py"),
            give_result(message="text was added"),
            error="boom",
            session_id=SESSION,
        )
        note = {
            "kind": "convention",
            "text": "Numbers are read before they are added: texts broke the sums.",
            "evidence": ["e1"],
        }
        good = await result_of(
            world,
            "retrospective",
            give_result(runner_output=json.dumps({"notes": [note]}), message="one note"),
            session_id=SESSION,
        )
        assert good.verified, good
        [draft] = await world.read(lambda c: notes.listed(c, NoteState.DRAFT, space=REPO))
        assert (draft.text, draft.actor) == (note["text"], ACTOR)
        assert good.message == f"one note (drafted {draft.ref})"
        invented = {**note, "evidence": ["e99"]}
        bad = await result_of(
            world,
            "retrospective",
            give_result(runner_output=json.dumps({"notes": [invented]}), message="one note"),
            session_id=SESSION,
        )
        assert not bad.verified, bad
        assert len(await world.read(lambda c: notes.listed(c, NoteState.DRAFT, space=REPO))) == 1


async def test_a_retrospective_of_a_long_session_cites_what_its_worker_was_told() -> None:
    """The newest entries, without those of earlier retrospectives."""
    async with made_memory_world(CALC) as world:
        await world.start()
        at = world.overlord.parts.clock.now()
        for number in range(1, 71):
            phase = "retrospective" if number == 70 else "debug"
            await world.overlord.parts.database.write(
                Failpoint.HISTORY_APPENDED,
                partial(_append, phase=phase, message=f"Text {number} was added.", at=at),
            )
        note = {"kind": "convention", "text": "Numbers are read before they are added.", "evidence": ["e69"]}
        good = await result_of(
            world,
            "retrospective",
            give_result(runner_output=json.dumps({"notes": [note]}), message="one note"),
            session_id=SESSION,
        )
        assert (good.verified, good.message) == (True, "one note (drafted n1)"), good
        for strange in ("e1", "e70"):
            note = {"kind": "convention", "text": f"Never add {strange}.", "evidence": [strange]}
            bad = await result_of(
                world,
                "retrospective",
                give_result(runner_output=json.dumps({"notes": [note]}), message="one note"),
                session_id=SESSION,
            )
            assert not bad.verified, bad


def _append(connection: sqlite3.Connection, *, phase: str, message: str, at: datetime) -> None:
    append_history(
        connection,
        REPO,
        SESSION,
        phase=phase,
        skill="tdd",
        final_status="pass",
        file_path="",
        message=message,
        actor=ACTOR,
        at=at,
    )


async def test_the_trainer_is_a_reader_and_then_a_writer() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        await result_of(
            world,
            "debug",
            read("calc.py"),
            give_result(message="types were mixed"),
            error="boom",
            session_id=SESSION,
        )
        pair = {
            "type": "sft",
            "moment": "a clean diagnosis",
            "prompt": "A sum of two inputs fails when one of them is text. What do you look at first?",
            "completion": "At where the inputs are read: convert them there, once, and refuse what is no number.",
            "score": 4,
        }
        record = {name: pair[name] for name in ("prompt", "completion")}
        asked = len(world.model.requests)
        world.model_will(
            give_result(runner_output=json.dumps([pair]), message="1 sft candidate found"),
            when="role: reader",
        )
        made = await result_of(
            world,
            "trainer",
            write(f"training-data/sft/{SESSION}.jsonl", json.dumps(record) + "\n"),
            give_result(message="1 sft pair written"),
            session_id=SESSION,
        )
        assert (made.verified, made.status) == (True, CallStatus.PASS), made
        assert made.message == f"1 sft + 0 dpo pairs for session {SESSION}"
        assert made.file_path == f"brain/training-data/sft/{SESSION}.jsonl"
        written = world.overlord.parts.home.root / made.file_path
        assert [json.loads(line) for line in written.read_text().splitlines()] == [record]
        first, *later = [
            str(world.model.messages(number)) for number in range(asked, len(world.model.requests))
        ]
        assert "role: reader" in first
        assert "types were mixed" in first
        assert all("role: writer" in heard for heard in later)
        assert "a clean diagnosis" in later[0]


async def test_notes_are_written_with_the_end_of_their_call_and_not_before() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        await result_of(world, "debug", read("calc.py"), give_result(), error="boom", session_id=SESSION)
        database = world.overlord.parts.database
        refuse = """CREATE TRIGGER nothing_ends BEFORE UPDATE OF state ON calls WHEN NEW.state = 'ended'
                    BEGIN SELECT RAISE(ABORT, 'not now'); END"""
        await database.write("by hand", lambda c: c.execute(refuse))
        note = {"kind": "convention", "text": "Numbers are read first: texts broke sums.", "evidence": ["e1"]}
        world.model.forget()
        world.model_will(give_result(runner_output=json.dumps({"notes": [note]}), message="one note"))
        call = await request(world, "retrospective", session_id=SESSION)

        async def is_refused() -> bool:
            return "not now" in (await world.job(call.job_id or 0)).reason

        await world.until(is_refused)
        assert await world.read(lambda c: notes.listed(c, NoteState.DRAFT, space=REPO)) == []
        await database.write("by hand", lambda c: c.execute("DROP TRIGGER nothing_ends"))
        assert (await ended(world, call)).result is not None
        assert len(await world.read(lambda c: notes.listed(c, NoteState.DRAFT, space=REPO))) == 1


async def test_what_the_contract_keeps_out_of_sight_is_hidden_from_a_worker_and_stays_as_it_is() -> None:
    contract = {**CONTRACT, "secret_paths": ["*.cfg"]}
    files = CALC | {"tests/test_text.py": RED, "token.cfg": "hush\n"}
    async with made_memory_world(files) as world:
        await world.push({".nebulus/contract/contract.yaml": yaml.safe_dump(contract, sort_keys=False)})
        await world.start()
        green = await result_of(
            world,
            "tdd_green",
            read("token.cfg"),
            run("cat token.cfg; echo leaked > token.cfg"),
            write("calc.py", GREEN),
            give_result(),
            test_path="tests/test_text.py",
        )
        assert (green.verified, green.changed) == (True, ("calc.py",)), green
        heard = str([world.model.messages(number) for number in range(len(world.model.requests))])
        assert "hush" not in heard
        assert "is kept from this session by its contract" in heard


async def test_a_contract_that_cannot_be_read_is_the_calls_result_at_once() -> None:
    async with made_memory_world(CALC) as world:
        await world.push({".nebulus/contract/contract.yaml": "secret_paths: ["})
        await world.start()
        began = world.clock.now()
        failed = (await called(world, "review", files=["calc.py"])).result
        assert failed is not None
        assert (failed.status, failed.verified) == (CallStatus.ERROR, False)
        assert "contract.yaml" in failed.message
        assert world.clock.now() == began


async def test_a_reader_without_candidates_that_can_be_read_is_an_error_and_nothing_is_written() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        made = await result_of(
            world, "trainer", give_result(runner_output="# some thoughts", message="none"), session_id=SESSION
        )
        assert (made.status, made.verified) == (CallStatus.ERROR, False)
        assert not (world.overlord.parts.home.brain / "training-data").exists()


async def test_a_cancelled_call_ends_without_a_result_and_its_session_with_it() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        world.model_will(read("calc.py"), *[say("…")] * 12)
        call = await request(world, "debug", error="boom")
        cancel = partial(cancel_call, ref=call.ref, actor=ACTOR, at=world.overlord.parts.clock.now())
        await world.overlord.parts.database.write(Failpoint.CALL_CANCELLED, cancel)
        over = await ended(world, call)
        assert (over.state, over.result) == (CallState.CANCELLED, None)
        job = await world.read(jobs.get, call.job_id)
        assert job.state is JobState.CANCELLED


async def test_a_call_is_no_work_at_an_issue() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        await result_of(world, "debug", read("calc.py"), give_result(), error="boom")
        await world.make_due()
        await world.until(lambda: True)
        assert await world.read(lambda c: c.execute("SELECT count(*) FROM job_outcomes").fetchone()[0]) == 0
        assert await world.decisions() == []
