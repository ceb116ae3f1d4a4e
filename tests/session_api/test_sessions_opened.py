"""The keeper: a listener for each live session, told by rows; a check session's session API listens to nobody once it reports."""

import asyncio
import contextlib
import socket
import stat

import pytest

from minion.protocol import (
    CheckReport,
    EventKind,
    Outcome,
    Report,
    SessionKind,
    StepOutcome,
    StepResult,
    encode,
)
from overlord.domain.session import Session
from tests.session_api.ground import DEADLINE_S, Ground, visitor

DONE = encode(Report(outcome=Outcome.COMPLETE))
CHECKED = encode(CheckReport(steps=(StepResult(name="tests", outcome=StepOutcome.RAN, exit_code=0),)))


async def test_a_door_is_opened_for_a_prepared_session_and_noted(ground: Ground) -> None:
    assert not await ground.keeper.reconcile()
    session = await ground.session()
    stored = await ground.stored(session)
    assert stored.door_opened_at == ground.clock.now()
    assert not await ground.keeper.reconcile(), "a door that is open is left as it is"
    async with visitor(ground, session) as inside:
        assert (await inside.get("/session/brief")).status_code == 200


async def test_an_opened_door_is_worth_another_turn(ground: Ground) -> None:
    await ground.session()
    keeper = ground.another_keeper()
    assert await keeper.reconcile()
    await keeper.close()


async def test_the_sessions_user_reaches_its_own_door_and_lists_no_other(ground: Ground) -> None:
    session = await ground.session()
    path = ground.home.socket(session.id)
    assert len(str(path)) <= 107
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o711


async def test_each_door_knows_whose_it_is(ground: Ground) -> None:
    one = await ground.session(await ground.job(1))
    other = await ground.session(await ground.job(2))
    for session in (one, other):
        async with visitor(ground, session) as inside:
            told = (await inside.get("/session/brief", headers={"x-session": one.id})).json()
            assert told["session_id"] == session.id


async def test_an_ended_sessions_door_is_closed(ground: Ground) -> None:
    session = await ground.session()
    other = await ground.session(await ground.job(8))
    async with visitor(ground, session) as inside:
        assert (await inside.get("/session/brief")).status_code == 200
        await ground.end(session)
        gone = await inside.get("/session/brief")
        assert (gone.status_code, gone.json()["error"]["message"]) == (410, "this session has ended")
        assert (await inside.get("/session/repo.git/info/refs?service=git-upload-pack")).status_code == 410
        assert (await inside.post("/session/report", DONE)).status_code == 410
        await ground.keeper.reconcile()
    assert not ground.knocks(session)
    assert not ground.home.session_api(session.id).exists()
    assert ground.knocks(other)


async def test_a_restarted_daemon_is_found_at_the_same_path(ground: Ground) -> None:
    session = await ground.session()
    path = ground.home.socket(session.id)
    directory = path.parent.stat().st_ino
    await ground.keeper.close()
    assert not ground.knocks(session)
    await ground.restart()
    assert path.parent.stat().st_ino == directory, "a container mounts the directory"
    async with visitor(ground, session) as inside:
        assert (await inside.get("/session/brief")).status_code == 200


async def test_a_socket_a_killed_daemon_left_is_no_obstacle(ground: Ground) -> None:
    session = await ground.session()
    await ground.keeper.close()
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(ground.home.socket(session.id)))
    left.close()
    await ground.restart()
    assert ground.knocks(session)


async def test_a_door_that_cannot_be_opened_keeps_no_other_closed(ground: Ground) -> None:
    job, other = await ground.job(1), await ground.job(2)
    session = await ground.session(job)
    await ground.keeper.close()
    ground.home.socket(session.id).unlink(missing_ok=True)
    ground.home.session_api(session.id).rmdir()
    ground.home.session_api(session.id).touch()
    ground.keeper = ground.another_keeper()
    second = await ground.session(other)
    assert ground.knocks(second)
    ground.home.session_api(session.id).unlink()
    await ground.keeper.reconcile()
    assert ground.knocks(session), "it is tried again"


async def test_closing_does_not_wait_for_a_question_nobody_answers(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        await inside.say(EventKind.QUESTION, question_id="q", text="which?")
        waiting = asyncio.create_task(inside.get("/session/answers/q"))
        async with asyncio.timeout(DEADLINE_S):
            await ground.wakeup.waited_for.wait()
            await ground.keeper.close()
            assert (await waiting).status_code == 503
    assert not ground.knocks(session)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("kept", "turns"),
    [*((True, turns) for turns in range(8)), *((False, turns) for turns in (0, 1, *range(3, 8)))],
)
async def test_whoever_asks_just_as_a_door_closes_hears_that_it_did(
    ground: Ground, turns: int, *, kept: bool
) -> None:
    """Each turn of the loop is another moment: connected, read, asked, answered.

    Left out is the one between a new connection's acceptance and its transport: asyncio itself forgets that socket.
    """
    session = await ground.session()
    await ground.keeper.reconcile()
    request = b"GET /session/answers/q HTTP/1.1\r\nhost: door\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as end:
        end.setblocking(False)
        end.connect(str(ground.home.socket(session.id)))
        async with asyncio.timeout(DEADLINE_S):
            if kept:
                end.sendall(request)
                assert (await asyncio.get_running_loop().sock_recv(end, 65536)).startswith(b"HTTP/1.1 404")
            end.sendall(request)
            for _ in range(turns):
                await asyncio.sleep(0)
            await ground.keeper.close()
            with contextlib.suppress(ConnectionError):
                while await asyncio.get_running_loop().sock_recv(end, 65536):
                    pass


@pytest.mark.parametrize(
    "path", ["/", "/session", "/session/repo.git", "/session/../../etc/passwd", "/v1/embeddings"]
)
async def test_there_is_nothing_else_behind_a_door(ground: Ground, path: str) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert (await inside.get(path)).status_code == 404


# A check session.


class Held:
    """A report whose head is sent now and whose body later, as the checker does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def sealed(self) -> None:
        """Wait until the session API says that it reads the report: from then on it listens to nobody."""
        async with asyncio.timeout(DEADLINE_S):
            assert await self.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"

    async def finish(self, body: bytes) -> int:
        self.writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        async with asyncio.timeout(DEADLINE_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
        self.writer.close()
        return int(head.split()[1])


async def hold(ground: Ground, session: Session) -> Held:
    reader, writer = await asyncio.open_unix_connection(str(ground.home.socket(session.id)))
    writer.write(
        b"POST /session/report HTTP/1.1\r\nHost: door\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    )
    return Held(reader, writer)


async def test_a_check_sessions_door_is_sealed_when_its_report_begins(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    held = await hold(ground, session)
    await held.sealed()
    assert not ground.knocks(session)
    assert (await ground.stored(session)).sealed_at is not None
    assert (await ground.stored(session)).report is None
    await ground.keeper.reconcile()
    assert not ground.knocks(session), "it is not opened again"
    assert await held.finish(CHECKED) == 204
    assert (await ground.stored(session)).report is not None


async def test_a_sealed_door_stays_sealed_after_a_restart(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    held = await hold(ground, session)
    await held.sealed()
    await ground.restart()
    assert not ground.knocks(session)
    await ground.end(session)
    await ground.keeper.reconcile()
    assert not ground.home.session_api(session.id).exists() or not any(
        ground.home.session_api(session.id).iterdir()
    )
    held.writer.close()


async def test_a_malformed_check_report_is_the_only_one(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    held = await hold(ground, session)
    await held.sealed()
    assert await held.finish(b'{"steps": [{"name": "tests", "outcome": "passed"}]}') == 400
    assert not ground.knocks(session)
    assert (await ground.stored(session)).report is None


async def test_a_connection_made_before_the_seal_cannot_report_something_else(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    async with visitor(ground, session) as earlier:
        await earlier.get("/session/brief")
        held = await hold(ground, session)
        await held.sealed()
        assert await held.finish(CHECKED) == 204
        forged = await earlier.post("/session/report", encode(CheckReport(steps=())))
        assert forged.status_code == 409
    report = (await ground.stored(session)).report
    assert isinstance(report, CheckReport)
    assert len(report.steps) == 1


async def test_a_check_session_has_no_model_no_questions_and_no_events(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    async with visitor(ground, session) as inside:
        asked = {"model": "default", "messages": [{"role": "user", "content": "hi"}]}
        assert (await inside.post("/v1/chat/completions", asked)).status_code == 403
        for kind in EventKind:
            assert (await inside.say(kind, question_id="q", text="?")).status_code == 403
        assert (await inside.get("/session/answers/q")).status_code == 403
        assert (await inside.get("/session/brief")).text == session.brief
    assert ground.model.requests == []


async def test_a_work_sessions_door_stays_open_after_its_report(ground: Ground) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        assert (await inside.post("/session/report", DONE)).status_code == 204
    assert ground.knocks(session)


@pytest.mark.parametrize("turns", range(6))
async def test_whoever_comes_in_the_turn_in_which_a_door_closes_is_hung_up_on(
    ground: Ground, turns: int
) -> None:
    session, loop, lost = await ground.session(), asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _loop, context: lost.append(context))
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        client.connect(str(ground.home.socket(session.id)))
        for _ in range(turns):  # not accepted yet, accepted and not yet anybody's, or with the session API
            await asyncio.sleep(0)
        await ground.keeper.close()
        async with asyncio.timeout(DEADLINE_S):
            with contextlib.suppress(ConnectionResetError):
                assert await loop.sock_recv(client, 1) == b""
    assert lost == []
