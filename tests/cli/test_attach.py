"""`overlord resume` while another process works: what happens there is shown here, answered here, and gone on with here."""

import json
import tempfile

from overlord.embedded.play import call, edit, run, submit
from tests.local import LocalSession, Terminal, git
from tests.local_contract import TITLE, hold
from tests.quick import quick_desk
from tests.world import FIX


async def held(user: LocalSession, *, asks: bool = False) -> Terminal:
    """A run at another terminal that is held in its session."""
    after = (call("ask_question", question="Plus or minus?", options=["plus"]),) if asks else ()
    user.model.will(run(hold(user)), *after, edit(*FIX), submit("It adds now."))
    at = await user.terminal("run", TITLE)
    await user.until((user.root / "holding").exists)
    return at


def go(user: LocalSession) -> None:
    (user.root / "go").touch()


async def test_what_happens_in_a_run_is_shown_until_it_rests() -> None:
    async with quick_desk() as user:
        worker = await held(user)
        at = await user.terminal("resume")
        await at.until("Ctrl-C detaches, and the run goes on.")
        go(user)
        assert (await at.ended(), await worker.ended()) == (0, 0), at.shown
        assert "Run 1, add() subtracts: at work, phase implement" in at.shown
        assert "  edit_file calc.py" in at.shown, "what its session does, as it does it"
        assert "the evaluation passed" in at.shown
        assert "minion/issue-1" in at.shown and "tests      pass" in at.shown, "and how it ended"


async def test_programs_get_json_lines_and_the_result() -> None:
    async with quick_desk() as user:
        worker = await held(user)
        with tempfile.TemporaryFile() as out:
            process = await user.start("resume", "1", "--json", printed=(out.fileno(), out.fileno()))

            def said() -> str:
                out.seek(0)
                return out.read().decode()

            await user.until(lambda: "Ctrl-C detaches" in said())
            go(user)
            assert (await process.wait(), await worker.ended()) == (0, 0)
            objects = [json.loads(text) for text in said().splitlines()]
        spoken = [item for item in objects if item["event"] == "transcript"]
        assert {item["session"] for item in spoken} == {"j1-work-1"}
        assert any(item["text"].startswith("edit_file calc.py") for item in spoken)
        assert "passed" in {item["event"] for item in objects}
        assert (objects[-1]["event"], objects[-1]["passed"]) == ("result", True)


async def test_ctrl_c_only_detaches() -> None:
    async with quick_desk() as user:
        worker = await held(user)
        at = await user.terminal("resume")
        await at.until("Ctrl-C detaches")
        at.type("\x03")
        assert await at.ended() == 0, at.shown
        assert "Detached. Run 1 goes on; `overlord resume` attaches again." in at.shown
        go(user)
        assert await worker.ended() == 0, worker.shown


async def test_what_another_process_left_when_it_was_killed_is_gone_on_with() -> None:
    async with quick_desk() as user:
        worker = await held(user)
        at = await user.terminal("resume")
        await at.until("Ctrl-C detaches")
        worker.process.kill()
        await at.until("The process that worked on run 1 has ended before it did: it is gone on with here.")
        go(user)
        assert await at.ended() == 0, at.shown
        assert "a + b" in git(user.repo, "show", "minion/issue-1:calc.py")
        await worker.ended()


async def test_what_it_waits_for_is_answered_where_somebody_is_attached() -> None:
    async with quick_desk() as user:
        user.model.will(
            run(hold(user)), call("ask_question", question="Plus?", options=["plus"]), edit(*FIX), submit()
        )
        worker = await user.start("run", TITLE)
        await user.until((user.root / "holding").exists)
        at = await user.terminal("resume")
        await at.until("Ctrl-C detaches")
        go(user)
        await at.until("choose 1-3, or answer in words: ")
        at.type("1\n")
        assert (await at.ended(), await worker.wait()) == (0, 0), at.shown
        assert "A person answered: plus" in str(user.model.messages(2))


async def test_without_a_terminal_the_command_that_answers_is_told() -> None:
    async with quick_desk() as user:
        worker = await held(user, asks=True)
        with tempfile.TemporaryFile() as out:
            process = await user.start("resume", printed=(out.fileno(), out.fileno()))

            def said() -> str:
                out.seek(0)
                return out.read().decode()

            await user.until(lambda: "Ctrl-C detaches" in said())
            go(user)
            await user.until(lambda: "`overlord answer 1 reply" in said())
            assert "It waits for you: " in said()
            assert (await user.overlord("answer", "1", "reply", "plus", "--repo", ".")).code == 0
            assert (await process.wait(), await worker.ended()) == (0, 0), said()


async def test_another_run_is_not_attached_to_by_the_wrong_number() -> None:
    async with quick_desk() as user:
        worker = await held(user)
        nobody = await user.overlord("resume", "7")
        assert (nobody.code, "there is no run 7" in nobody.err) == (4, True)
        go(user)
        assert await worker.ended() == 0
        user.model.will(submit("Nothing to do."))
        await user.overlord("run", "another")
        (user.root / "go").unlink()
        (user.root / "holding").unlink()
        worker = await held(user)
        wrong = await user.overlord("resume", "2")
        assert wrong.code == 5 and "another process works on run 3" in wrong.err, wrong.err
        go(user)
        await worker.ended()
