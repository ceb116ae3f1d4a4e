"""The client of the door, the shim beside it, and the sign of life, against a real socket."""

import contextlib
import json
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minion.errors import BadStart, DoorGone, DoorRefused, OutOfBudget
from minion.heartbeat import Beat
from minion.loopback import Shim
from minion.protocol import COMPLETIONS_PATH, EventKind
from minion.session_api import Door as WireDoor
from tests.minion.session_api import Door, cut, message, status

MakeDoor = Callable[..., Door]
ASKED = json.dumps({"messages": []}).encode()


@pytest.fixture
def far(make_door: MakeDoor) -> Door:
    return make_door({"a": "b"})


def test_one_connection_is_kept_for_all_calls(far: Door) -> None:
    far.will(message("hi"))
    door = WireDoor(far.socket)
    for _ in range(3):
        assert door.post(COMPLETIONS_PATH, ASKED).status == 200
    assert far._server is not None
    assert len(far._server.connections) == 1
    door.close()


def test_refusals_are_exceptions_with_their_code(far: Door) -> None:
    door = WireDoor(far.socket, patience_s=0)
    far.will(status(402, "budget_exhausted", "the session's budget is spent"))
    with pytest.raises(OutOfBudget, match="budget is spent"):
        door.post(COMPLETIONS_PATH, ASKED)
    far.script = [lambda handler: handler.answer(404, b"<html>")]
    with pytest.raises(DoorRefused) as caught:
        door.post(COMPLETIONS_PATH, ASKED)
    assert (caught.value.status, caught.value.code) == (404, "unknown")
    door.close()


def test_a_missing_door_is_waited_for_with_growing_pauses(short_path: Path) -> None:
    pauses: list[float] = []
    door = WireDoor(short_path / "none", patience_s=60, pause=pauses.append)

    def counted(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 9:
            door.patience_s = 0

    door._pause = counted
    with pytest.raises(DoorGone, match=r"did not take GET /session/brief: .*No such file"):
        door.call("GET", "/session/brief")
    assert pauses == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_patience_spent_is_a_door_that_is_gone_or_trouble_it_spoke_of(far: Door) -> None:
    door = WireDoor(far.socket, patience_s=0)
    far.will(cut)
    with pytest.raises(DoorGone):
        door.post(COMPLETIONS_PATH, ASKED)
    far.script = [status(502, "model_unavailable", "no endpoint replied")]
    with pytest.raises(DoorRefused, match=r"no endpoint replied \(502 model_unavailable\)"):
        door.post(COMPLETIONS_PATH, ASKED)
    door.close()


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
def test_refusals_of_any_shape_are_read(far: Door, body: bytes, code: str, message: str) -> None:
    far.will(lambda handler: handler.answer(400, body))
    door = WireDoor(far.socket)
    with pytest.raises(DoorRefused) as caught:
        door.post(COMPLETIONS_PATH, ASKED)
    assert (caught.value.code, str(caught.value)) == (code, f"{message} (400 {code})")
    door.close()


def test_a_busy_model_is_waited_for_but_any_other_429_is_a_refusal(far: Door) -> None:
    pauses: list[float] = []
    far.will(status(429, "rate_limited"))
    door = WireDoor(far.socket, patience_s=0.5, pause=pauses.append)
    far.answers = [status(429, "questions", "asked enough")]
    with pytest.raises(DoorRefused, match="asked enough"):
        door.call("GET", "/session/answers/1")
    assert not pauses
    with pytest.raises(DoorRefused, match="rate_limited"):
        door.post(COMPLETIONS_PATH, ASKED)
    assert len(pauses) > 1
    door.close()


def chunked(*pieces: bytes, end: bool) -> Callable[..., None]:
    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in (*pieces, b"") if end else pieces:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        handler.close_connection = not end

    return answer


def test_an_answer_in_chunks_is_read_whole_or_not_at_all(far: Door) -> None:
    far.will(chunked(b"one ", b"two", end=True))
    door = WireDoor(far.socket, patience_s=0)
    assert door.post(COMPLETIONS_PATH, ASKED).body == b"one two"
    far.script = [chunked(b"one ", end=False)]
    with pytest.raises(DoorGone):
        door.post(COMPLETIONS_PATH, ASKED)
    door.close()


@pytest.mark.parametrize("chunks", [True, False])
def test_an_answer_larger_than_we_hold_is_not_taken(far: Door, chunks: bool) -> None:
    far.will(chunked(b"x" * 11, end=True) if chunks else b"x" * 11)
    door = WireDoor(far.socket, patience_s=0, largest_answer=10)
    with pytest.raises(DoorGone, match="larger than we hold"):
        door.post(COMPLETIONS_PATH, ASKED)


def test_only_a_unix_socket_is_a_door() -> None:
    with pytest.raises(BadStart, match="unix:///path"):
        WireDoor.at("https://example.invalid", patience_s=1)
    assert WireDoor.at("unix:///run/door/s", patience_s=1).path == Path("/run/door/s")


def test_the_shim_serves_http_on_loopback_until_it_is_closed(far: Door) -> None:
    far.will(message("hi"))
    shim = Shim(far.socket)
    with urllib.request.urlopen(shim.url + COMPLETIONS_PATH, ASKED) as answer:
        assert b"hi" in answer.read()
    port = int(shim.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as idle:
        shim.close()
        with contextlib.suppress(ConnectionResetError):
            assert idle.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_the_shim_waits_for_a_door_that_comes_back(far: Door) -> None:
    far.will(message("hi"))
    far.vanish()
    shim = Shim(far.socket)
    with socket.create_connection(("127.0.0.1", int(shim.url.rpartition(":")[2]))) as near:
        near.sendall(
            b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(ASKED), ASKED)
        )
        far.open()
        assert near.recv(12) == b"HTTP/1.1 200"
    shim.close()


def test_the_shim_gives_up_on_a_door_that_stays_away(short_path: Path) -> None:
    shim = Shim(short_path / "none", patience_s=0)
    with socket.create_connection(("127.0.0.1", int(shim.url.rpartition(":")[2]))) as near:
        assert near.recv(1) == b""
    shim.close()


def test_heartbeats_come_without_being_asked_for(far: Door) -> None:
    beat = Beat(WireDoor(far.socket), interval_s=0.01)
    far.wait_for(lambda: len(far.events) >= 2)
    beat.progress(3, "reading \ud800")
    far.wait_for(lambda: far.events[-1].turn == 3 and far.events[-1].kind is EventKind.HEARTBEAT)
    beat.stop()
    assert EventKind.PROGRESS in {event.kind for event in far.events}


def test_a_beat_without_a_door_bothers_nobody(short_path: Path) -> None:
    beat = Beat(WireDoor(short_path / "none"))
    beat.log("nobody hears this")
    beat.stop()
