"""What a repository's sessions run in: set up once from base, shared, without a model's hand in it."""

import json

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from overlord.home import Home
from overlord.store import environments, sessions
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, REPO, made_world

SETUP = """\
setup:
  - echo "the setup saw $TOKEN_LENGTH letters" > "$MINION_ENVIRONMENT/said"
  - echo made >> "$MINION_ENVIRONMENT/runs"
variables: {SAID: "{environment}/said"}
"""
NEEDS_SETUP = {
    **CALC,
    ".nebulus/environment.yaml": SETUP.replace(" $TOKEN_LENGTH letters", ""),
    "tests/test_said.py": (
        "import os\nfrom pathlib import Path\n\n\ndef test_said():\n"
        "    assert Path(os.environ['SAID']).read_text() == 'the setup saw\\n'\n"
    ),
}


async def test_sessions_and_checks_run_in_what_the_setup_made() -> None:
    async with made_world(NEEDS_SETUP) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), run("cat $SAID"), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        heard = [message["content"] for message in world.minion_heard() if message["role"] == "tool"]
        assert any("the setup saw" in str(text) for text in heard)
        events = await world.events()
        assert (
            events.index("setup_started")
            < events.index("environment_completed")
            < events.index("work_submitted")
        )
        kinds = [session.kind for session in await world.read(lambda c: sessions.of_job(c, 1))]
        assert kinds == ["setup", "work", "check", "review"]


async def test_two_jobs_need_the_same_and_it_is_set_up_once() -> None:
    async with made_memory_world(NEEDS_SETUP) as world:
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
            world.model_will(edit(*FIX), submit(), when=f"({number})")
        await world.settle()
        assert [job.state for job in await world.jobs()] == [JobState.IN_REVIEW] * 2
        assert (await world.events()).count("setup_started") == 1
        [environment] = await world.read(environments.everything)
        last = [session.layer for session in await world.read(lambda c: sessions.of_job(c, 2))]
        assert set(last) - {""} == {environment.id}


async def test_a_setup_that_fails_is_asked_about_once_with_its_log_and_tried_again_when_told() -> None:
    broken = {**CALC, ".nebulus/environment.yaml": "setup: echo the index is down; exit 7\n"}
    async with made_memory_world(broken) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "exit code 7" in decision.body and "the index is down" in decision.body
        assert (await world.events()).count("setup_started") == 1
        await world.push({".nebulus/environment.yaml": "setup: 'true'\n"})
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_an_environment_file_that_does_not_parse_is_named() -> None:
    async with made_memory_world({**CALC, ".nebulus/environment.yaml": "setups: x\n"}) as world:
        await world.issue("add() subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT and "setups" in decision.body


async def test_secrets_reach_the_setup_and_nothing_else() -> None:
    canary = "canary-5f2a9c1b7d"
    given = {REPO: {"setup_secrets": {"INDEX_TOKEN": canary}}}
    text = 'setup: \'echo "$INDEX_TOKEN" | wc -c > "$MINION_ENVIRONMENT/said"; echo "token $INDEX_TOKEN"\'\n'
    async with made_world({**CALC, ".nebulus/environment.yaml": text}, spaces=given) as world:
        await world.issue("add() subtracts")
        look = run("env; cat $MINION_ENVIRONMENT/said; grep -r canary $MINION_ENVIRONMENT | head")
        world.model_will(edit(*FIX), look, submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        heard = json.dumps(world.minion_heard())
        assert str(len(canary) + 1) in heard
        assert canary not in heard
        assert world.files_with(canary) == []


async def test_a_secret_left_in_the_environment_stops_the_setup() -> None:
    given = {REPO: {"setup_secrets": {"INDEX_TOKEN": "canary-5f2a9c1b7d"}}}
    text = 'setup: \'echo "$INDEX_TOKEN" > "$MINION_ENVIRONMENT/pip.conf"\'\n'
    async with made_world({**CALC, ".nebulus/environment.yaml": text}, spaces=given) as world:
        await world.issue("add() subtracts")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "INDEX_TOKEN" in decision.body and "pip.conf" in decision.body
        assert "canary" not in decision.body


async def test_new_dependencies_are_installed_only_when_a_person_allowed_them() -> None:
    files = {
        **CALC,
        ".nebulus/environment.yaml": (
            "setup: cp requirements.txt $MINION_ENVIRONMENT/wanted\ndetect: false\ninputs: [requirements.txt]\n"
        ),
        "requirements.txt": "first\n",
    }
    async with made_memory_world(files, infer_scope=False) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), write("requirements.txt", "first\nsecond\n"), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DEPENDENCIES
        assert "+second" in decision.body
        assert (await world.events()).count("setup_started") == 1
        await world.answer(decision, Verb.INSTALL)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, await world.decisions()
        assert (await world.events()).count("setup_started") == 2


async def test_a_setup_that_is_lost_is_made_again() -> None:
    first_time = 'test -e "$XDG_CACHE_HOME/again" || { touch "$XDG_CACHE_HOME/again"; kill -9 $PPID; }'
    async with made_memory_world({**CALC, ".nebulus/environment.yaml": f"setup: '{first_time}'\n"}) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.events()).count("setup_lost") == 1
        assert (await world.job()).state is JobState.IN_REVIEW
        assert [row.state for row in await world.read(environments.everything)] == ["ready"]


async def test_a_setup_whose_job_is_stopped_is_made_for_the_next_one() -> None:
    slow = 'mkdir -p "$XDG_CACHE_HOME"; until test -e "$XDG_CACHE_HOME/../go"; do sleep 0.02; done'
    async with made_memory_world({**CALC, ".nebulus/environment.yaml": f"setup: '{slow}'\n"}) as world:
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
            world.model_will(edit(*FIX), submit(), when=f"({number})")
        await world.make_due()

        def makers() -> list[int]:
            return [number for number in (1, 2) if world.has_started(f"j{number}-setup-1")]

        await world.until(makers)
        [stopped] = makers()  # whichever of the two was first
        await world.stop_job(stopped)
        await world.until(lambda: makers() == [3 - stopped])
        caches = Home(world.root / "home").processes / ".layers" / "cache" / "acme"
        caches.mkdir(parents=True, exist_ok=True)
        (caches / "go").touch()
        await world.settle()
        ended = {job.id: job.state for job in await world.jobs()}
        assert ended == {stopped: JobState.CANCELLED, 3 - stopped: JobState.IN_REVIEW}


async def test_an_environment_nobody_uses_is_removed_and_made_again_when_needed() -> None:
    async with made_memory_world(NEEDS_SETUP) as world:
        await world.issue("add() subtracts (1)")
        world.model_will(edit(*FIX), submit(), when="(1)")
        await world.settle()
        [made] = await world.read(environments.everything)
        world.clock.move(15 * 24 * 3600)

        async def is_gone() -> bool:
            return not await world.read(environments.everything)

        await world.until(is_gone)
        assert not await world.overlord.parts.runner.has_layer(made.id)
        await world.forge.close_issue(REPO, 1)
        await world.issue("add() subtracts (2)")
        world.model_will(edit(*FIX), submit(), when="(2)")
        await world.settle()
        assert [row.state for row in await world.read(environments.everything)] == ["ready"]
