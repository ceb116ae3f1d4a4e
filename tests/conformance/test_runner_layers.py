"""What every runner promises of environments (ports.Runner): made once by a setup, used by sessions, gone when removed."""

import asyncio
import json
import uuid
from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import EndKind
from overlord.errors import RunnerRefused
from overlord.ports.runner import Runner
from tests.conformance.conftest import every_runner
from tests.runners import MAKES, Kit, Make, ending_of, launch

SETUP = SessionId("setup")
LOOKS = """
place = os.environ.get("MINION_ENVIRONMENT", "")
seen = {"place": bool(place), "cache": bool(os.environ.get("MINION_CACHE")), "made": "", "refused": 0}
if place:
    seen["made"] = open(place + "/made").read()
    try: open(place + "/made", "a").close()
    except OSError as error: seen["refused"] = error.errno
say(json.dumps(seen))
"""
DOWNLOADS = """
cache = os.environ["MINION_CACHE"]
say(json.dumps(sorted(os.listdir(cache))))
open(cache + "/" + os.environ["MINION_ID"], "w").close()
"""
READ_ONLY = 30
HOSTILE = (
    "",
    ".",
    "..",
    "../../etc",
    "cache",
    "a b",
    "--force",
    "ab\nFROM x",
    "abc",
    "f" * 65,
    "ABCDEF0123",
    "é" * 8,
)


def new_key() -> str:
    return uuid.uuid4().hex[:20]


def setup(kit: Kit, key: str, name: str = SETUP, space: str = "acme/calc") -> Launch:
    return replace(launch(kit, name), layer=key, makes_layer=True, space=space)


async def begin(runner: Runner, kit: Kit, key: str, name: str = SETUP) -> Any:
    """Start a setup that waits; its line, and what it found where the environment is to be."""
    await runner.prepare_layer(key, image="", packages=())
    await runner.start(setup(kit, key, name))
    line = await kit.session_api.line()
    return line, json.loads(await line.hear())


async def made(runner: Runner, kit: Kit, key: str, name: str = SETUP) -> int:
    """A whole environment, kept."""
    line, found = await begin(runner, kit, key, name)
    assert found == []
    line.say("finish")
    assert (await ending_of(runner, SessionId(name))).exit_code == 0
    return await runner.keep_layer(SessionId(name), key)


async def seen(runner: Runner, kit: Kit, session: Launch) -> Any:
    await runner.start(session)
    told = json.loads(await (await kit.session_api.line()).hear())
    await ending_of(runner, session.session)
    return told


async def test_what_a_setup_leaves_is_there_for_sessions_until_it_is_removed(kit: Kit, make: Make) -> None:
    runner, looking, key = make(MAKES), make(LOOKS), new_key()
    assert not await runner.has_layer(key)
    assert await made(runner, kit, key) > 0
    assert await runner.has_layer(key)
    await runner.remove(SETUP)
    for name in ("first", "second"):
        found = await seen(looking, kit, replace(launch(kit, name), layer=key))
        isolated = runner.capabilities.isolates_files
        assert found == {
            "place": True,
            "cache": False,
            "made": SETUP,
            "refused": READ_ONLY if isolated else 0,
        }
        await looking.remove(SessionId(name))
    await runner.remove_layer(key)
    assert not await runner.has_layer(key)
    assert not await make().has_layer(key)


async def test_a_session_without_an_environment_sees_none(kit: Kit, make: Make) -> None:
    await made(make(MAKES), kit, new_key())
    found = await seen(make(LOOKS), kit, launch(kit, "work"))
    assert found == {"place": False, "cache": False, "made": "", "refused": 0}


@every_runner
async def test_every_call_may_be_repeated_also_by_the_next_daemon(kit: Kit, make: Make) -> None:
    first, next_one, key = make(MAKES), make(MAKES), new_key()
    await first.prepare_layer(key, image="", packages=())
    line, found = await begin(next_one, kit, key)
    assert found == []
    await first.start(setup(kit, key))
    line.say("finish")
    await ending_of(first, SETUP)
    sizes = [await runner.keep_layer(SETUP, key) for runner in (first, next_one, first)]
    assert len(set(sizes)) == 1
    assert kit.session_api.lines.empty(), "it was started twice"
    await first.remove(SETUP)
    assert await next_one.keep_layer(SETUP, key) == sizes[0], (
        "the setup was cleared, and its environment is kept"
    )
    for runner in (first, next_one):
        await runner.remove_layer(key)
        assert not await runner.has_layer(key)


@every_runner
@pytest.mark.parametrize("end", ["killed", "stopped", "by itself"])
async def test_a_setup_that_did_not_come_to_its_end_leaves_no_environment(
    kit: Kit, make: Make, end: str
) -> None:
    runner, key = make(MAKES), new_key()
    line, _ = await begin(runner, kit, key)
    if end == "killed":
        await kit.kill_from_outside(SETUP)
        assert (await ending_of(runner, SETUP)).kind is EndKind.KILLED
    elif end == "stopped":
        await runner.stop(SETUP, grace_s=0)
    else:
        line.say("leave it")
        assert (await ending_of(runner, SETUP)).exit_code == 0
    with pytest.raises(RunnerRefused, match="left no finished environment"):
        await runner.keep_layer(SETUP, key)
    assert not await runner.has_layer(key)
    await runner.remove(SETUP)
    assert await made(runner, kit, key, "again") > 0, "and what it left is not found by the next one"


async def test_two_setups_at_once_make_two_environments(kit: Kit, make: Make) -> None:
    runner, looking = make(MAKES), make(LOOKS)
    keys = {name: new_key() for name in ("one", "two")}
    lines = {name: (await begin(runner, kit, key, name))[0] for name, key in keys.items()}
    for line in lines.values():
        line.say("finish")
    ended = set[str]()
    async for session in runner.follow():
        ended.add(session)
        if ended == set(keys):
            break
    await asyncio.gather(*(runner.keep_layer(SessionId(name), key) for name, key in keys.items()))
    for name, key in keys.items():
        found = await seen(looking, kit, replace(launch(kit, f"in-{name}"), layer=key))
        assert found["made"] == name


@every_runner
async def test_an_environment_nobody_made_is_none_and_no_error(kit: Kit, make: Make) -> None:
    runner, key = make(MAKES), new_key()
    assert not await runner.has_layer(key)
    await runner.remove_layer(key)
    with pytest.raises(RunnerRefused):
        await runner.keep_layer(SessionId("nobody"), key)
    assert not await runner.has_layer(key)


@every_runner
@pytest.mark.parametrize("key", HOSTILE)
async def test_what_is_no_key_is_refused_by_every_call(kit: Kit, make: Make, key: str) -> None:
    runner = make(MAKES)
    for act in (
        runner.prepare_layer(key, image="", packages=()),
        runner.keep_layer(SETUP, key),
        runner.has_layer(key),
        runner.remove_layer(key),
    ):
        with pytest.raises(RunnerRefused, match="cannot be an environment's key"):
            await act


@every_runner
async def test_the_ground_stays_the_same_and_a_hostile_image_is_none(make: Make) -> None:
    runner = make()
    assert await runner.ground("") == await make().ground("") != ""
    for image in ("x y", "x\nRUN id", "--privileged", "$(id)"):
        with pytest.raises(RunnerRefused):
            await runner.ground(image)


async def test_downloads_are_kept_for_the_next_setup_of_the_same_space_only(kit: Kit, make: Make) -> None:
    runner, found = make(DOWNLOADS), {}
    for name, space in (("a", "acme/calc"), ("b", "Acme/Calc"), ("c", "acme/web"), ("d", "other/calc")):
        key = new_key()
        await runner.prepare_layer(key, image="", packages=())
        found[name] = await seen(runner, kit, setup(kit, key, name, space))
        await runner.remove(SessionId(name))
    assert found == {"a": [], "b": ["a"], "c": [], "d": []}
    assert set(await runner.downloads()) >= {"acme/calc", "acme/web", "other/calc"}
    await runner.remove_downloads("acme/calc")
    await runner.remove_downloads("acme/calc")
    assert "acme/calc" not in await runner.downloads()
    assert "acme/web" in await runner.downloads()
    key = new_key()
    await runner.prepare_layer(key, image="", packages=())
    assert await seen(runner, kit, setup(kit, key, "e", "acme/calc")) == []
