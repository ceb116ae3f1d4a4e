"""The client of the session API, the shim beside it, and the sign of life, against a real socket."""

import contextlib
import json
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minion.errors import BadStart, OutOfBudget, SessionApiGone, SessionApiRefused
from minion.heartbeat import Heartbeat
from minion.loopback import Loopback
from minion.protocol import COMPLETIONS_PATH, EventKind
from minion.session_api import SessionApi as WireDoor
from tests.minion.session_api import SessionApi, cut, message, status

MakeDoor = Callable[..., SessionApi]
ASKED = json.dumps({"messages": []}).encode()


@pytest.fixture
def far(make_door: MakeDoor) -> SessionApi:
    return make_door({"a": "b"})


def test_one_connection_is_kept_for_all_calls(far: SessionApi) -> None:
    far.will(message("hi"))
    session_api = WireDoor(far.socket)
    for _ in range(3):
        assert session_api.post(COMPLETIONS_PATH, ASKED).status == 200
    assert far._server is not None
    assert len(far._server.connections) == 1
    session_api.close()


def test_refusals_are_exceptions_with_their_code(far: SessionApi) -> None:
    session_api = WireDoor(far.socket, patience_s=0)
    far.will(status(402, "budget_exhausted", "the session's budget is spent"))
    with pytest.raises(OutOfBudget, match="budget is spent"):
        session_api.post(COMPLETIONS_PATH, ASKED)
    far.script = [lambda handler: handler.answer(404, b"<html>")]
    with pytest.raises(SessionApiRefused) as caught:
        session_api.post(COMPLETIONS_PATH, ASKED)
    assert (caught.value.status, caught.value.code) == (404, "unknown")
    session_api.close()


def test_a_missing_door_is_waited_for_with_growing_pauses(short_path: Path) -> None:
    pauses: list[float] = []
    session_api = WireDoor(short_path / "none", patience_s=60, pause=pauses.append)

    def counted(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 9:
            session_api.patience_s = 0

    session_api._pause = counted
    with pytest.raises(SessionApiGone, match=r"did not take GET /session/brief: .*No such file"):
        session_api.call("GET", "/session/brief")
    assert pauses == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_patience_spent_is_a_door_that_is_gone_or_trouble_it_spoke_of(far: SessionApi) -> None:
    session_api = WireDoor(far.socket, patience_s=0)
    far.will(cut)
    with pytest.raises(SessionApiGone):
        session_api.post(COMPLETIONS_PATH, ASKED)
    far.script = [status(502, "model_unavailable", "no endpoint replied")]
    with pytest.raises(SessionApiRefused, match=r"no endpoint replied \(502 model_unavailable\)"):
        session_api.post(COMPLETIONS_PATH, ASKED)
    session_api.close()


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b'{"error": {"type": "invalid", "message": "bad"}}', "invalid", "bad"),
        (
            b'{"error": {"code": null, "message": null}}',
            "unknown",
            '{"error": {"code": null, "message": null}}',
        ),
        (b'{"error": "words"}', "unknown", '{"error": "words"}'),
        (b"", "unknown", "no reason given"),
    ],
)
def test_refusals_of_any_shape_are_read(far: SessionApi, body: bytes, code: str, message: str) -> None:
    far.will(lambda handler: handler.answer(400, body))
    session_api = WireDoor(far.socket)
    with pytest.raises(SessionApiRefused) as caught:
        session_api.post(COMPLETIONS_PATH, ASKED)
    assert (caught.value.code, str(caught.value)) == (code, f"{message} (400 {code})")
    session_api.close()


def test_a_busy_model_is_waited_for_but_any_other_429_is_a_refusal(far: SessionApi) -> None:
    pauses: list[float] = []
    far.will(status(429, "rate_limited"))
    session_api = WireDoor(far.socket, patience_s=0.5, pause=pauses.append)
    far.answers = [status(429, "questions", "asked enough")]
    with pytest.raises(SessionApiRefused, match="asked enough"):
        session_api.call("GET", "/session/answers/1")
    assert not pauses
    with pytest.raises(SessionApiRefused, match="rate_limited"):
        session_api.post(COMPLETIONS_PATH, ASKED)
    assert len(pauses) > 1
    session_api.close()


def chunked(*pieces: bytes, end: bool) -> Callable[..., None]:
    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in (*pieces, b"") if end else pieces:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        handler.close_connection = not end

    return answer


def test_an_answer_in_chunks_is_read_whole_or_not_at_all(far: SessionApi) -> None:
    far.will(chunked(b"one ", b"two", end=True))
    session_api = WireDoor(far.socket, patience_s=0)
    assert session_api.post(COMPLETIONS_PATH, ASKED).body == b"one two"
    far.script = [chunked(b"one ", end=False)]
    with pytest.raises(SessionApiGone):
        session_api.post(COMPLETIONS_PATH, ASKED)
    session_api.close()


@pytest.mark.parametrize("chunks", [True, False])
def test_an_answer_larger_than_we_hold_is_not_taken(far: SessionApi, chunks: bool) -> None:
    far.will(chunked(b"x" * 11, end=True) if chunks else b"x" * 11)
    session_api = WireDoor(far.socket, patience_s=0, largest_answer=10)
    with pytest.raises(SessionApiGone, match="larger than we hold"):
        session_api.post(COMPLETIONS_PATH, ASKED)


def test_only_a_unix_socket_is_a_door() -> None:
    with pytest.raises(BadStart, match="unix:///path"):
        WireDoor.at("https://example.invalid", patience_s=1)
    assert WireDoor.at("unix:///run/door/s", patience_s=1).path == Path("/run/door/s")


def test_the_shim_serves_http_on_loopback_until_it_is_closed(far: SessionApi) -> None:
    far.will(message("hi"))
    loopback = Loopback(far.socket)
    with urllib.request.urlopen(loopback.url + COMPLETIONS_PATH, ASKED) as answer:
        assert b"hi" in answer.read()
    port = int(loopback.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as idle:
        loopback.close()
        with contextlib.suppress(ConnectionResetError):
            assert idle.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_the_shim_waits_for_a_door_that_comes_back(far: SessionApi) -> None:
    far.will(message("hi"))
    far.vanish()
    loopback = Loopback(far.socket)
    with socket.create_connection(("127.0.0.1", int(loopback.url.rpartition(":")[2]))) as near:
        near.sendall(
            b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(ASKED), ASKED)
        )
        far.open()
        assert near.recv(12) == b"HTTP/1.1 200"
    loopback.close()


def test_the_shim_gives_up_on_a_door_that_stays_away(short_path: Path) -> None:
    loopback = Loopback(short_path / "none", patience_s=0)
    with socket.create_connection(("127.0.0.1", int(loopback.url.rpartition(":")[2]))) as near:
        assert near.recv(1) == b""
    loopback.close()


def test_heartbeats_come_without_being_asked_for(far: SessionApi) -> None:
    beat = Heartbeat(WireDoor(far.socket), interval_s=0.01)
    far.wait_for(lambda: len(far.events) >= 2)
    beat.progress(3, "reading \ud800")
    far.wait_for(lambda: far.events[-1].turn == 3 and far.events[-1].kind is EventKind.HEARTBEAT)
    beat.stop()
    assert EventKind.PROGRESS in {event.kind for event in far.events}


def test_a_beat_without_a_door_bothers_nobody(short_path: Path) -> None:
    beat = Heartbeat(WireDoor(short_path / "none"))
    beat.log("nobody hears this")
    beat.stop()
