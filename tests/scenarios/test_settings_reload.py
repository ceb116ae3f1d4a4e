"""A settings file that is saved counts without a restart; one that does not load changes nothing, and everybody is told once."""

import signal

import yaml

from overlord.domain.decision import Verb
from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.engine.reload import LOOK_S
from overlord.queries import overview
from overlord.store import ledger
from tests.listener.test_daemon import served
from tests.listener.wire import get
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, REPO, World

OTHER = "acme/other"
WORK = (edit(*FIX), submit())
BLOCKED = call("task_blocked", reason="I cannot see why")


async def told(world: World) -> tuple[str, ...]:
    """What `overlord status` says of the settings."""
    at = world.clock.now()
    status = await world.read(lambda c: overview.status(c, world.overlord.parts.settings, at=at))
    return tuple(status.settings)


async def ledger_of(world: World, name: str) -> list[str]:
    return [entry.data for entry in await world.read(lambda c: list(ledger.entries(c))) if entry.name == name]


async def test_labels_repositories_and_limits_are_taken_from_a_saved_file() -> None:
    async with made_memory_world(repositories=None) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        world.write_settings(f"repositories: [{REPO}]")
        await world.start()
        world.write_settings(
            f"repositories: [{REPO}, {OTHER}]\nlabels: {{work: robot}}\nspaces: {{{OTHER}: {{budget: {{job_tokens: 9}}}}}}"
        )
        await world.until_settings_are_read()
        await world.issue("add() subtracts", label="robot")
        await world.forge.open_issue(OTHER, "add() subtracts", "", labels=["robot"])
        world.model_will(*WORK, when=REPO)
        await world.settle()
        states = {job.space: job.state for job in await world.jobs()}
        assert states == {REPO: JobState.IN_REVIEW, OTHER: JobState.WAITING}
        [changed] = await ledger_of(world, "settings_changed")
        assert '"what": ["repositories", "labels.work", "spaces.acme/other"]' in changed


async def test_a_repository_that_leaves_the_file_is_not_looked_at_any_more_and_its_job_goes_on() -> None:
    async with made_memory_world(repositories=None) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        world.write_settings(f"repositories: [{REPO}, {OTHER}]")
        await world.issue("add() subtracts")
        world.model_will(world.hold(), *WORK)
        await world.until_holding()
        world.write_settings(f"repositories: [{OTHER}]")
        await world.until_settings_are_read()
        world.let_go()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        await world.issue("another")
        await world.settle()
        assert len(await world.jobs()) == 1


async def test_a_file_that_is_being_written_is_left_to_rest() -> None:
    async with made_memory_world() as world:
        await world.start()
        for text in ("labels: {work: a", "labels: {work: ab", "labels: {work: abc}"):
            world.write_settings(text)
            world.clock.move(LOOK_S)
            await world.until(lambda: True)
            assert await told(world) == ()
        await world.until_settings_are_read()
        assert world.overlord.parts.settings.labels.work == "abc"


async def test_a_file_that_does_not_load_keeps_the_last_good_ones_and_is_told_once() -> None:
    async with made_memory_talk() as talk:
        world = talk.world
        world.write_settings("budget: {job_tokens: 900000}")
        await world.start()
        world.write_settings("budget: {job_tokens: many}\nlabels: {work: robot}")
        await world.until_settings_are_read()
        assert world.overlord.parts.settings.budget.job_tokens == 900_000
        await world.issue("add() subtracts")
        world.model_will(*WORK)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, "the work goes on"
        card = talk.card("The settings do not load, and the last good ones are kept: ")
        assert "overlord.yaml: budget.job_tokens: Input should be a valid integer" in card.plain
        status = await talk.command("status")
        assert "The settings do not load" in status
        world.write_settings("budget: {job_tokens: many}\nlabels: {work: robot} # the same mistake")
        await world.until_settings_are_read()
        await world.settle()
        assert len(talk.cards("The settings do not load")) == 1
        world.write_settings("budget: {job_tokens: 7}")
        await world.until_settings_are_read()
        assert world.overlord.parts.settings.budget.job_tokens == 7
        assert "do not load" not in await talk.command("status")


async def test_what_counts_after_a_restart_is_named_and_kept_until_then() -> None:
    async with made_memory_world() as world:
        await world.start()
        world.write_settings(
            "forge: {timeout_s: 9}\nendpoints: {spare: {base_url: http://127.0.0.1:9/v1, name: x}}\nlabels: {work: robot}"
        )
        await world.until_settings_are_read()
        settings = world.overlord.parts.settings
        assert (settings.forge.timeout_s, settings.endpoints, settings.labels.work) == (30, {}, "robot")
        assert await told(world) == (
            "Changed in the settings, and counts after a restart: forge.timeout_s, endpoints.spare",
        )
        await world.stop()
        await world.start()
        settings = world.overlord.parts.settings
        assert (settings.forge.timeout_s, list(settings.endpoints)) == (9, ["spare"])
        assert await told(world) == ()


async def test_what_rests_on_what_counts_after_a_restart_is_not_taken_before_it() -> None:
    async with made_memory_world() as world:
        await world.start()
        world.write_settings(
            "endpoints: {spare: {base_url: http://127.0.0.1:9/v1, name: x}}\nmodels: {default: [{endpoint: spare}]}"
        )
        await world.until_settings_are_read()
        [said] = await told(world)
        assert said.endswith(
            "there is no endpoint 'spare'; start Overlord again: endpoints.spare cannot change under it"
        )
        await world.stop()
        await world.start()
        assert await told(world) == ()


async def test_a_step_under_way_goes_by_what_it_began_with() -> None:
    async with made_memory_world() as world:
        await world.start()
        step = world.overlord.parts.still()
        world.write_settings("labels: {work: robot}")
        await world.until_settings_are_read()
        assert (step.settings.labels.work, world.overlord.parts.settings.labels.work) == (
            "nebulus-ready",
            "robot",
        )


async def test_secrets_that_come_with_a_saved_file_are_kept_out_of_what_is_written() -> None:
    secret = "canary-9f8e7d6c5b"
    async with made_memory_world() as world:
        await world.start()
        world.write_settings(f"spaces: {{{REPO}: {{setup_secrets: {{TOKEN: {secret}}}}}}}")
        await world.until_settings_are_read()
        await world.issue("add() subtracts")
        world.model_will(call("task_blocked", reason=f"I saw {secret}"))
        await world.settle()
        [decision] = await world.decisions()
        assert secret not in decision.body
        assert [path.name for path in world.files_with(secret)] == ["overlord.yaml"]
        await world.answer(decision, Verb.DROP)


async def test_a_daemon_reads_its_file_anew_at_sighup_and_says_that_it_is_ready_all_the_same() -> None:
    async with made_memory_world() as world, served(world, OVERLORD_LISTEN="127.0.0.1:0") as daemon:
        place = (await daemon.told("listening"))["address"]
        await daemon.told("serving")
        given = world.given()
        world.write_settings(yaml.safe_dump({**given, "labels": {"wrok": "x"}}))
        daemon.process.send_signal(signal.SIGHUP)
        assert "labels.wrok" in (await daemon.told("settings_refused"))["problem"]
        answer = await get(place, "/readyz")
        kept = "the settings do not load; the last good ones are kept"
        assert (answer.status, answer.said) == (200, {"status": "ready", "notes": [kept]})
        world.write_settings(yaml.safe_dump({**given, "labels": {"work": "robot"}}))
        daemon.process.send_signal(signal.SIGHUP)
        assert (await daemon.told("settings_changed"))["what"] == ["labels.work"]
        assert (await get(place, "/readyz")).said == {"status": "ready"}
        assert await daemon.stopped() == 0
