"""What every runner promises (ports.Runner), with a puppet in the Minion's place."""

import asyncio
import json
import sys

import pytest

from overlord.domain.identifiers import SessionId
from overlord.domain.session import EndKind
from tests.conformance.conftest import every_runner
from tests.puppet import DEADLINE_S
from tests.runners import DEAF, EXITS, OBEYS, POLITE, Kit, Make, ending_of, launch

S1 = SessionId("s1")
PARENT = """
for level in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        own = reach()
        lines.close(); door.close()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        own.sendall(b'child\\n'); rest()
say('up')
"""


@every_runner
async def test_a_session_that_ends_by_itself_is_told_with_its_exit_code(kit: Kit, make: Make) -> None:
    runner = make(OBEYS)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is None
    line.say("3")
    ending = await ending_of(runner, S1)
    assert (ending.kind, ending.exit_code) == (EndKind.EXITED, 3)


async def test_it_is_given_its_environment_and_nothing_of_the_daemons(
    kit: Kit, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "canary-5b1f")
    await make("say(json.dumps(dict(os.environ)))").start(
        launch(kit, environment={"MINION_SCOPE": '["src/**"]'})
    )
    line = await kit.session_api.line()
    environment = json.loads(await line.hear())
    assert environment["MINION_ID"] == "s1"
    assert environment["MINION_SCOPE"] == '["src/**"]'
    assert "canary-5b1f" not in json.dumps(environment)
    assert not {"GITHUB_TOKEN", "OVERLORD_HOME", "OPENAI_API_KEY"} & set(environment)


@every_runner
async def test_starting_again_changes_nothing_running_or_ended(kit: Kit, make: Make) -> None:
    runner, second = make(OBEYS), make(OBEYS)
    await asyncio.gather(*(one.start(launch(kit)) for one in (runner, second, runner)))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    await second.start(launch(kit))
    line.say("4")
    assert (await ending_of(runner, S1)).exit_code == 4
    await runner.start(launch(kit))
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert running.ending.exit_code == 4
    assert kit.session_api.lines.empty(), "it was started twice"


@every_runner
async def test_an_unknown_session_is_no_trace_and_no_error(kit: Kit, make: Make) -> None:
    runner = make()
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    assert await runner.logs(S1, limit_bytes=100) == ""
    await runner.stop(S1, grace_s=0)
    await runner.remove(S1)


async def test_logs_can_be_printed_whatever_they_hold(kit: Kit, make: Make) -> None:
    program = r"""
out = sys.stdout.buffer
out.write(b'first \x1b[31mred\x1b]0;title\x07 \xff\xfe \xe2\x80\xae' + b'\r\n')
out.write(b'x' * 300_000 + b'\n'); out.write(b'last'); out.flush()
"""
    runner = make(program)
    await runner.start(launch(kit))
    await ending_of(runner, S1)
    text = await runner.logs(S1, limit_bytes=400_000)
    first, second, last = text.split("\n")
    assert first == "first ␛[31mred␛]0;title␇ �� <U+202E>"
    assert second.startswith("xxx")
    assert len(second) < 3000
    assert last == "last"
    assert await runner.logs(S1, limit_bytes=2) == "st"


async def test_a_log_bomb_leaves_its_end_and_not_much_more(kit: Kit, make: Make) -> None:
    program = "[sys.stdout.write('y' * 99 + chr(10)) for _ in range(100_000)]; print('boom', flush=True)"
    runner = make(program)
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).kind is EndKind.EXITED
    text = await runner.logs(S1, limit_bytes=100_000_000)
    assert text.endswith("boom\n")
    assert len(text) < 2_100_000


@every_runner
async def test_a_polite_session_is_stopped_by_being_asked(kit: Kit, make: Make) -> None:
    runner = make(POLITE)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    await runner.stop(S1, grace_s=DEADLINE_S)
    assert await line.hear() == "bye"
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert (running.ending.kind, running.ending.exit_code) == (EndKind.STOPPED, 5)


@every_runner
async def test_one_that_ignores_being_asked_is_killed(kit: Kit, make: Make) -> None:
    runner = make(DEAF)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    await asyncio.gather(runner.stop(S1, grace_s=DEADLINE_S), runner.stop(S1, grace_s=0.1))
    assert await line.hear() == ""
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert (running.ending.kind, running.ending.exit_code) == (EndKind.STOPPED, 137)


@pytest.mark.parametrize("end", ["stopped", "by itself"])
async def test_no_child_outlives_its_session(kit: Kit, make: Make, end: str) -> None:
    runner = make(PARENT + ("rest()" if end == "stopped" else "hear()"))
    await runner.start(launch(kit))
    lines = [await kit.session_api.line() for _ in range(4)]
    heard = {await line.hear(): line for line in lines}
    assert set(heard) == {"up", "child"}
    if end == "stopped":
        await runner.stop(S1, grace_s=0.1)
    else:
        heard["up"].say("end")
        await ending_of(runner, S1)
    for line in lines:
        assert await line.hear() == ""


@every_runner
async def test_stopping_one_that_ended_leaves_its_ending(kit: Kit, make: Make) -> None:
    runner = make(EXITS)
    await runner.start(launch(kit))
    before = await ending_of(runner, S1)
    await runner.stop(S1, grace_s=0)
    running = await runner.find(S1)
    assert running is not None
    assert running.ending == before
    assert before.kind is EndKind.EXITED


@every_runner
async def test_one_that_a_stranger_killed_is_told_apart(kit: Kit, make: Make) -> None:
    runner = make(DEAF)
    await runner.start(launch(kit))
    assert await (await kit.session_api.line()).hear() == "up"
    await kit.kill_from_outside(S1)
    assert (await ending_of(runner, S1)).kind is EndKind.KILLED


async def test_a_session_outlives_its_daemon_and_is_found_by_the_next(kit: Kit, make: Make) -> None:
    daemon = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-c",
            _DAEMON.format(
                source=kit.source(OBEYS), session_api=str(kit.session_api.path), url=kit.session_api.url
            ),
        ),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert daemon.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        assert await daemon.stdout.readline() == b"started\n"
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    daemon.kill()
    assert await daemon.wait() == -9

    runner = make(OBEYS)
    assert [(found.session, found.ending) for found in await runner.sessions()] == [(S1, None)]
    await runner.start(launch(kit))
    line.say("6")
    ending = await ending_of(runner, S1)
    assert (ending.kind, ending.exit_code) == (EndKind.EXITED, 6)
    assert kit.session_api.lines.empty(), "it was started twice"


_DAEMON = """
import asyncio
from pathlib import Path
from overlord.domain.launch import Launch, SessionAccess
{source}
async def main():
    access = SessionAccess(url={url!r}, token="t", authority="-") if {url!r} else globals().get("access")
    environment, session_api = {{"MINION_ID": "s1"}}, Path({session_api!r})
    await runner.start(
        Launch(session="s1", job="job-1", environment=environment, session_api=session_api, access=access)
    )
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_closing_lets_sessions_go_on(kit: Kit, make: Make) -> None:
    first = make(OBEYS)
    await first.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    follower = asyncio.ensure_future(anext(first.follow(), None))
    await asyncio.sleep(0)
    await first.close()
    assert await asyncio.wait_for(follower, DEADLINE_S) is None
    line.say("0")
    assert (await ending_of(make(), S1)).exit_code == 0


@every_runner
async def test_what_ended_before_somebody_followed_is_still_found(kit: Kit, make: Make) -> None:
    runner = make(OBEYS)
    for name in ("a", "b"):
        await runner.start(launch(kit, name))
    lines = [await kit.session_api.line() for _ in range(2)]
    lines[0].say("0")
    async for ended in runner.follow():
        states = {found.session: found.ending for found in await make().sessions()}
        assert set(states) == {"a", "b"}
        assert states.pop(ended) is not None
        assert [*states.values()] == [None]
        break


@every_runner
@pytest.mark.parametrize("alive", [True, False])
async def test_a_removed_session_is_gone_without_a_trace(kit: Kit, make: Make, alive: bool) -> None:
    runner = make(OBEYS)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    if not alive:
        line.say("0")
        await ending_of(runner, S1)
    await runner.remove(S1)
    assert await line.hear() == ""
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    assert await runner.logs(S1, limit_bytes=10) == ""
    await runner.start(launch(kit))
    again = await kit.session_api.line()
    assert await again.hear() == "up"


@every_runner
async def test_a_runner_says_what_it_holds(make: Make) -> None:
    runner = make()
    promises = runner.capabilities
    isolates = runner.name in {"docker", "swarm", "kubernetes"}
    assert promises.isolates_files is promises.isolates_network is promises.limits_memory is isolates
