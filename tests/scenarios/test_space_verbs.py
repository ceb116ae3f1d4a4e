"""`overlord space …`: repositories are put into Overlord's care and taken out again while it works."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.entrypoints.cli.command_list import app
from overlord.entrypoints.cli.main import run
from overlord.store import ledger
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, REPO, World

OTHER = "acme/other"
WORK = (edit(*FIX), submit())
BLOCKED = call("task_blocked", reason="I cannot see why")
Typed = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type `overlord …` on a world's home; the exit code and what was printed."""

    async def typing(world: World, *words: str) -> tuple[int, str]:
        for name, value in {
            "OVERLORD_HOME": str(world.root / "home"),
            "OVERLORD_COMMAND": "overlord",
            "OVERLORD_REPOS": REPO,
            "OVERLORD_MODEL": "scripted",
            "USER": "alice",
            "LOGNAME": "alice",
            "COLUMNS": "200",
        }.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = await asyncio.to_thread(_run, list(words))
        out, err = capsys.readouterr()
        return code, out + err

    return typing


def _run(words: list[str]) -> int:
    try:
        return run(lambda: app(words))
    except SystemExit as ending:
        return int(str(ending.code or 0))


async def test_a_repository_added_by_command_is_worked_on_with_its_own_settings(typed: Typed) -> None:
    async with made_memory_world() as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await world.start()
        code, said = await typed(
            world,
            "space",
            "add",
            OTHER,
            "--unchecked",
            "--set",
            "labels.work=robot",
            "--set",
            "scope=[calc.py]",
        )
        assert (code, said.startswith(f"{OTHER} is managed by Overlord;")) == (0, True), said
        await world.forge.open_issue(OTHER, "add() subtracts", "", labels=["robot"])
        world.model_will(*WORK)
        await world.settle()
        [job] = await world.jobs()
        assert (job.space, job.state) == (OTHER, JobState.IN_REVIEW)
        await world.stop()
        await world.start()
        assert world.overlord.parts.settings.repositories == (REPO, OTHER), "it outlives a restart"
        assert f'"{OTHER}"' in (await typed(world, "config", "check", "--json"))[1]
        assert f"{OTHER}" in (await typed(world, "doctor"))[1]


async def test_one_with_open_jobs_is_removed_only_with_their_end_and_what_is_known_of_it_stays(
    typed: Typed,
) -> None:
    async with made_memory_world() as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await world.start()
        await typed(world, "space", "add", OTHER, "--unchecked")
        number = await world.forge.open_issue(OTHER, "add() subtracts", "", labels=["nebulus-ready"])
        world.model_will(BLOCKED)
        await world.settle()
        assert await typed(world, "space", "remove", OTHER) == (
            5,
            f"overlord: 1 job of {OTHER} is open; `overlord space remove {OTHER} --stop-jobs` ends them, and what they made stays\n",
        )
        assert await typed(world, "space", "remove", OTHER, "--stop-jobs") == (
            0,
            f"{OTHER} is not managed by Overlord any more. 1 job ended; what was made stays.\n",
        )
        await world.settle()
        [job] = await world.jobs()
        assert (job.state, job.reason) == (
            JobState.CANCELLED,
            "its repository was taken out of Overlord's care",
        )
        assert world.forge.issue(OTHER, number).labels == ()
        await world.forge.label(OTHER, number, "nebulus-ready")
        await world.settle()
        assert len(await world.jobs()) == 1, "nobody looks there any more"
        names = [(e.name, e.actor) for e in await world.read(lambda c: list(ledger.entries(c)))]
        assert ("space_added", "cli:alice") in names
        assert ("space_removed", "cli:alice") in names
        assert (await typed(world, "space", "remove", OTHER))[0] == 4
        await typed(world, "space", "add", OTHER, "--unchecked")
        world.model.forget()  # the same words, another answer
        world.model_will(*WORK)
        await world.settle()
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED, JobState.IN_REVIEW]


async def test_what_is_in_care_is_listed_and_each_value_says_where_it_comes_from(typed: Typed) -> None:
    async with made_memory_world() as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await world.start()
        world.write_settings(
            f"delivery: {{rounds: 1}}\nspaces: {{{OTHER}: {{budget: {{job_tokens: 900000}}}}}}"
        )
        await typed(
            world,
            "space",
            "add",
            OTHER,
            "--unchecked",
            "--base-branch",
            "main",
            "--set",
            "sessions.concurrent=1",
        )
        await world.until_settings_are_read()
        code, said = await typed(world, "space", "list")
        rows = [line.split() for line in said.splitlines()[1:]]
        assert code == 0
        assert [row[:2] for row in rows if row and "/" in row[0]] == [[REPO, "settings"], [OTHER, "alice"]]
        assert "0 of 1" in said
        code, said = await typed(world, "space", "show", "other", "--json")
        values = {item["key"]: (item["value"], item["source"]) for item in json.loads(said)["values"]}
        assert values["base_branch"] == ('"main"', "command")
        assert values["sessions.concurrent"] == ("1", "command")
        assert values["budget.job_tokens"] == ("900000", f"spaces.{OTHER} in the file")
        assert values["delivery.rounds"] == ("1", "the file")
        assert values["merge"] == ('"manual"', "default")
        assert "budget.day_tokens" not in values
        assert "sessions.concurrent" in (await typed(world, "space", "show", OTHER))[1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((OTHER, "--set", "labels.wrok=x"), 3, "unknown key 'spaces.acme/other.labels.wrok'"),
        ((OTHER, "--set", "merge=auto"), 3, "spaces.acme/other.merge: manual is the only way there is"),
        ((OTHER, "--set", "budget.job_usd=lots"), 3, "spaces.acme/other.budget.job_usd: Input should be"),
        ((OTHER, "--set", "setup_secrets.A=b"), 2, "setup_secrets are not given by command"),
        ((OTHER, "--set", "scope"), 2, "Give it as KEY=VALUE"),
        (("other",), 2, "give a repository as owner/repo"),
        (("acme/..",), 2, "give a repository as owner/repo"),
        (("./other",), 2, "give a repository as owner/repo"),
        ((REPO.upper(),), 5, f"{REPO} is managed by Overlord by the settings"),
    ],
)
async def test_what_cannot_be_added_is_refused_and_nothing_changes(
    typed: Typed, words: tuple[str, ...], code: int, said: str
) -> None:
    async with made_memory_world() as world:
        await world.start()
        ended, told = await typed(world, "space", "add", "--unchecked", *words)
        assert ended == code
        assert said in " ".join(told.replace("│", " ").split())
        await world.until(lambda: True)
        assert world.overlord.parts.settings.repositories == (REPO,)


async def test_one_of_the_settings_is_taken_out_there(typed: Typed) -> None:
    async with made_memory_world() as world:
        await world.start()
        code, said = await typed(world, "space", "remove", REPO)
        assert (code, "take it out of `repositories` or OVERLORD_REPOS" in said) == (5, True)


async def test_pausing_by_its_verb_is_the_pause_of_before(typed: Typed) -> None:
    async with made_memory_world() as world:
        await world.start()
        assert (await typed(world, "space", "pause", REPO, "--reason", "a release"))[0] == 0
        assert "Paused by alice: a release" in (await typed(world, "space", "list"))[1]
        assert await typed(world, "space", "resume", "calc") == (0, f"Going on: {REPO}.\n")


async def test_the_first_repository_can_be_added_before_anything_was_started(typed: Typed) -> None:
    async with made_memory_world(repositories=[]) as world:
        code, said = await typed(world, "space", "add", OTHER, "--unchecked")
        assert (code, "It is taken up when the daemon runs" in said) == (0, True), said
        await world.forge.create_repository(OTHER, files=CALC)
        await world.forge.open_issue(OTHER, "add() subtracts", "", labels=["nebulus-ready"])
        world.model_will(*WORK)
        await world.settle()
        assert [job.space for job in await world.jobs()] == [OTHER]


async def test_status_and_answers_work_while_the_file_does_not_load(typed: Typed) -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        world.write_settings("labels: {wrok: x}")
        code, said = await typed(world, "status")
        assert code == 0
        assert "The settings do not load: " in said
        assert "unknown key 'labels.wrok'" in said
        assert (await typed(world, "decisions", "answer", "1", "drop"))[0] == 0
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED


async def test_the_chat_shows_what_is_in_care_and_by_what_it_is_worked_on() -> None:
    async with made_memory_talk() as talk:
        await talk.world.start()
        assert REPO in await talk.command("space list")
        shown = await talk.command("space show calc")
        assert "sessions.concurrent" in shown
        assert "default" in shown
        assert "No repository of that name" in await talk.command("space frobnicate")
