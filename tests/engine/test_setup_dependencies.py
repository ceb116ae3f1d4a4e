"""A change of dependencies: nothing of it is installed before a person allowed exactly these files, and then only these."""

import json

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import Turn, edit, run, submit, write
from overlord.store import environments, sessions
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, World

ENVIRONMENT = ".nebulus/environment.yaml"
TOOL = "from pathlib import Path\nprint('base made it', Path('requirements.txt').read_text().split())\n"
FILES = {
    **CALC,
    ENVIRONMENT: (
        'setup: python tool.py > "$MINION_ENVIRONMENT/wanted"\ndetect: false\n'
        'inputs: [requirements.txt]\nvariables: {WANTED: "{environment}/wanted"}\n'
    ),
    "requirements.txt": "first\n",
    "tool.py": TOOL,
}
HOSTILE = "print('head made it')\n"
SECOND = write("requirements.txt", "first\nsecond\n")
BREAK = edit("calc.py", "return a * 2", "return a * 3")
MEND = edit("calc.py", "return a * 3", "return a * 2")
LOOK = run("cat $WANTED")


def seen(world: World) -> list[str]:
    """What the last Minion saw of the environment it ran in."""
    told = [str(message["content"]) for message in world.minion_heard() if message["role"] == "tool"]
    return [text for text in told if "made it" in text]


async def started(world: World) -> list[str]:
    """The files that each setup took from the change."""
    found = await world.read(lambda c: sessions.of_job(c, 1))
    briefs = [json.loads(session.brief) for session in found if session.kind == "setup"]
    return [" ".join(brief["setup"]["taken"]) for brief in briefs]


async def asked(world: World, *turns: Turn) -> None:
    await world.issue("add() subtracts (1)")
    world.model_will(*turns)
    await world.settle()
    [decision] = await world.decisions()
    assert decision.subject is Subject.DEPENDENCIES, decision


async def answer(world: World, verb: Verb) -> None:
    [decision] = await world.decisions()
    await world.answer(decision, verb)
    await world.settle()


async def test_only_the_approved_files_are_taken_and_everything_that_runs_is_bases() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), SECOND, write("tool.py", HOSTILE), submit())
        assert await started(world) == [""], "nothing was installed before somebody said so"
        await answer(world, Verb.INSTALL)
        assert await started(world) == ["", "requirements.txt"]
        kept = [row.id for row in await world.read(environments.everything)]
        layers = [world.overlord.parts.home.processes / ".layers" / key / "wanted" for key in kept]
        assert {layer.read_text() for layer in layers} == {
            "base made it ['first']\n",
            "base made it ['first', 'second']\n",
        }


async def test_a_setup_py_of_the_change_counts_only_once_it_is_approved_itself() -> None:
    files = {
        **FILES,
        ENVIRONMENT: FILES[ENVIRONMENT].replace("python tool.py", "python setup.py"),
        "setup.py": TOOL,
    }
    async with made_memory_world(files, infer_scope=False) as world:
        await asked(world, edit(*FIX), write("setup.py", HOSTILE), submit())
        [decision] = await world.decisions()
        assert "head made it" in decision.body and "setup.py" in decision.body
        assert decision.patterns == ("setup.py",)
        assert await started(world) == [""]
        await answer(world, Verb.INSTALL)
        assert await started(world) == ["", "setup.py"]


async def test_sending_it_back_installs_nothing_and_what_is_sent_again_is_asked_again() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), SECOND, submit())
        world.model_will(LOOK, submit())
        await answer(world, Verb.ONE_MORE)
        assert seen(world)[-1].count("['first']") == 1
        assert await started(world) == [""]
        [decision] = await world.decisions()
        assert decision.subject is Subject.DEPENDENCIES
        world.model_will(write("requirements.txt", "first\n"), submit())
        await answer(world, Verb.ONE_MORE)
        assert await started(world) == [""]
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_an_approval_holds_for_these_files_and_for_no_others() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), BREAK, SECOND, submit())
        # The tests fail: a revision, in what was approved, with the same files.
        world.model_will(LOOK, write("other.py", "x = 1\n"), submit())
        await answer(world, Verb.INSTALL)
        assert (await world.events()).count("revision_ordered") == 1
        assert "'first', 'second'" in seen(world)[-1]
        assert await started(world) == ["", "requirements.txt"]
        [decision] = await world.decisions()
        assert decision.subject is Subject.ESCALATION
        # And one more, with others.
        world.model_will(MEND, write("requirements.txt", "first\nthird\n"), submit())
        await answer(world, Verb.ONE_MORE)
        assert await started(world) == ["", "requirements.txt"]
        [decision] = await world.decisions()
        assert decision.subject is Subject.DEPENDENCIES
        assert "+third" in decision.body
        await answer(world, Verb.INSTALL)
        assert await started(world) == ["", "requirements.txt", "requirements.txt"]
        assert (await world.job()).state is JobState.IN_REVIEW, await world.decisions()


async def test_going_back_to_what_was_approved_is_not_asked_about_again() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), BREAK, SECOND, submit())
        world.model_will(write("requirements.txt", "first\nthird\n"), submit())
        await answer(world, Verb.INSTALL)
        assert await started(world) == ["", "requirements.txt"]
        world.model_will(MEND, SECOND, submit())
        await answer(world, Verb.ONE_MORE)
        assert await world.decisions() == []
        assert await started(world) == ["", "requirements.txt"]
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_an_approval_is_one_jobs_own() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), SECOND, submit())
        await answer(world, Verb.INSTALL)
        await world.issue("add() subtracts again")
        world.model_will(edit(*FIX), SECOND, submit(), when="again")
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.job_id, decision.subject) == (2, Subject.DEPENDENCIES)


async def test_a_lock_file_too_long_to_compare_counts_as_changed_at_its_end_too() -> None:
    lock = "".join(f"package-{number}==1.0\n" for number in range(60_000))
    assert len(lock) > 1_000_000
    async with made_memory_world({**FILES, "requirements.txt": lock}, infer_scope=False) as world:
        await asked(world, edit(*FIX), run("echo evil==6.6 >> requirements.txt"), submit())
        [decision] = await world.decisions()
        assert "+evil==6.6" in decision.body


async def test_what_an_approval_is_bound_to_cannot_be_met_by_chance() -> None:
    async with made_memory_world(FILES, infer_scope=False) as world:
        await asked(world, edit(*FIX), SECOND, submit())
        [decision] = await world.decisions()
        [digest] = decision.options
        assert len(digest) == 64
