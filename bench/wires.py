"""What the gateway adds to a streamed reply in each wire, passed through to an endpoint of the same wire and translated for one of
chat completions; and what translating alone takes, a message and an event.

    python -m bench.wires [sessions] [rounds]
"""

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from bench.gateway import EVENT_S, EVENTS, GOAL_MS, PROMPT, Asked, Way, session_apis, timings_of
from bench.table import Figure, publish
from minion.protocol import COMPLETIONS_PATH, GEMINI_PATH, MESSAGES_API_PATH, RESPONSES_PATH
from overlord.domain.wires.registry import DIALECTS
from overlord.domain.wires.wire import Wire
from overlord.embedded.server import serve

TRANSLATION_GOAL_MS = 1.0
MESSAGES = 200
"""Of the conversation that is translated."""
_WORD = "word "
_RESPONSE = {"id": "r", "object": "response", "status": "in_progress", "model": "m", "output": []}
_CHAT_USAGE = {"prompt_tokens": 1000, "completion_tokens": EVENTS, "total_tokens": 1000 + EVENTS}
_USAGE = {"input_tokens": 1000, "output_tokens": EVENTS}
Json = Mapping[str, Any]


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


_SCRIPTS: Mapping[Wire, tuple[Sequence[Json], Json, Sequence[Json]]] = {
    Wire.CHAT: (
        (),
        _chunk({"content": _WORD}),
        (_chunk({}, "stop"), {"choices": [], "usage": _CHAT_USAGE}),
    ),
    Wire.MESSAGES: (
        (
            {"type": "message_start", "message": {"id": "m", "content": [], "usage": _USAGE}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _WORD}},
        (
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": _USAGE},
            {"type": "message_stop"},
        ),
    ),
    Wire.RESPONSES: (
        ({"type": "response.created", "response": _RESPONSE},),
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": _WORD},
        ({"type": "response.completed", "response": {**_RESPONSE, "status": "completed", "usage": _USAGE}},),
    ),
    Wire.GEMINI: (
        (),
        {"candidates": [{"content": {"role": "model", "parts": [{"text": _WORD}]}, "index": 0}]},
        (
            {
                "candidates": [{"finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": EVENTS},
            },
        ),
    ),
}
"""What an endpoint of a wire says: to begin with, again and again, and in the end."""
_USER = [{"role": "user", "content": PROMPT}]
ASKED: Mapping[Wire, Asked] = {
    Wire.CHAT: Asked(
        path=COMPLETIONS_PATH, body=json.dumps({"model": "default", "stream": True, "messages": _USER})
    ),
    Wire.MESSAGES: Asked(
        path=MESSAGES_API_PATH,
        body=json.dumps({"model": "default", "stream": True, "max_tokens": 4096, "messages": _USER}),
    ),
    Wire.RESPONSES: Asked(
        path=RESPONSES_PATH, body=json.dumps({"model": "default", "stream": True, "input": _USER})
    ),
    Wire.GEMINI: Asked(
        path=f"{GEMINI_PATH}/default:streamGenerateContent?alt=sse",
        body=json.dumps({"contents": [{"role": "user", "parts": [{"text": PROMPT}]}]}),
    ),
}


def _event(value: Json) -> bytes:
    name = f"event: {value['type']}\n".encode() if "type" in value else b""
    return name + b"data: " + json.dumps(value).encode() + b"\n\n"


async def _endpoint(scope: Any, receive: Any, send: Any) -> None:
    """A model that talks at a steady pace, in the wire of the path it is asked at."""
    while (await receive()).get("more_body"):
        continue
    path = scope["path"]
    ends = {"completions": Wire.CHAT, "messages": Wire.MESSAGES, "responses": Wire.RESPONSES}
    begin, piece, end = _SCRIPTS[ends.get(path.rpartition("/")[2], Wire.GEMINI)]
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    first, again = b"".join(map(_event, begin)), _event(piece)
    for number in range(EVENTS):
        body = first + again if number == 0 else again
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await asyncio.sleep(EVENT_S)
    await send({"type": "http.response.body", "body": b"".join(map(_event, end)), "more_body": False})


def _far_end(pipe: Connection) -> None:
    async def run() -> None:
        async with serve(_endpoint) as url:
            pipe.send(url)
            await asyncio.to_thread(pipe.recv)

    asyncio.run(run())


async def main(count: int, rounds: int) -> None:
    """Print the table."""
    ours, theirs = multiprocessing.Pipe()
    far_end = multiprocessing.get_context("spawn").Process(target=_far_end, args=(theirs,))
    far_end.start()
    url = await asyncio.to_thread(ours.recv)
    rows = []
    try:
        for wire in Wire:
            rows += await _added(url, wire, count, rounds)
    finally:
        ours.send("done")
        await asyncio.to_thread(far_end.join)
    print(f"{count} sessions streaming in each wire, {EVENTS} events each {EVENT_S * 1000:.0f} ms apart")
    publish([*rows, *translations()])


async def _added(url: str, wire: Wire, count: int, rounds: int) -> list[Figure]:
    """Through sessions' APIs, of the same wire and translated to chat: the first byte, over a direct connection to the endpoint that
    answers, and the processor time a whole reply takes, of a hundred events."""
    rows = []
    for far in dict.fromkeys((wire, Wire.CHAT)):
        with tempfile.TemporaryDirectory(prefix="gw-", dir="/tmp") as root:
            async with session_apis(Path(root), url, count, far) as sockets:
                doors = [("http://door", str(socket)) for socket in sockets]
                ways = [
                    Way(addresses=[(url, "")] * count, asked=ASKED[far]),
                    Way(addresses=doors, asked=ASKED[wire]),
                ]
                measured = await timings_of(ways, rounds)
        direct, through = measured.timings
        name = f"{wire}{'' if far is wire else ' to chat'}"
        beside = median(timing.first_ms for timing in direct)
        added = median(timing.first_ms for timing in through) - beside
        first = Figure(
            part="wires", name=f"{name}, first byte p50, added", unit="ms", measured=added, goal=GOAL_MS
        )
        cpu_ms = measured.cpu_s * 1000 / len(through)
        rows += [
            replace(first, yardstick="direct", beside=beside),
            Figure(part="wires", name=f"{name}, CPU of a reply", unit="ms", measured=cpu_ms),
        ]
    return rows


def _conversation(wire: Wire) -> Json:
    """A long conversation with calls and their answers, in a wire."""
    turns = range(MESSAGES // 2)
    call = {"name": "read_file", "path": "a.py"}
    if wire is Wire.MESSAGES:
        uses = [{"type": "tool_use", "id": f"t{turn}", "name": "read_file", "input": call} for turn in turns]
        results = [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": PROMPT} for turn in turns]
        pairs = zip(uses, results, strict=True)
        messages = [
            {"role": role, "content": [block]}
            for pair in pairs
            for role, block in zip(("assistant", "user"), pair, strict=True)
        ]
        return {"model": "default", "max_tokens": 4096, "messages": [*_USER, *messages]}
    if wire is Wire.RESPONSES:
        items: list[Json] = []
        for turn in turns:
            made = {"type": "function_call", "call_id": f"c{turn}", "name": "read_file"}
            items.append({**made, "arguments": json.dumps(call)})
            items.append({"type": "function_call_output", "call_id": f"c{turn}", "output": PROMPT})
        return {"model": "default", "input": [*_USER, *items]}
    contents: list[Json] = [{"role": "user", "parts": [{"text": PROMPT}]}]
    for _ in turns:
        contents.append({"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": call}}]})
        answer = {"name": "read_file", "response": {"output": PROMPT}}
        contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
    return {"contents": contents}


def translations() -> list[Figure]:
    """Milliseconds a message of a request, and an event of a stream."""
    rows = []
    for wire in (Wire.MESSAGES, Wire.RESPONSES, Wire.GEMINI):
        dialect, body = DIALECTS[wire], _conversation(wire)
        names = frozenset({"default"})
        request = dialect.read(body, names=names, completion=4096, model="default", stream=True)
        begin, piece, end = _SCRIPTS[Wire.CHAT]
        events = [*map(_event, begin), *[_event(piece)] * 1000, *map(_event, end)]

        def stream(dialect: Any = dialect, request: Any = request, events: Any = events) -> None:
            translator = dialect.translator(request, model="m")
            for event in events:
                translator.feed(event)
            translator.end()

        for name, act, parts in (
            (
                "a message of a request",
                lambda dialect=dialect, request=request: dialect.to_chat(request),
                MESSAGES,
            ),
            ("an event of a stream", stream, len(events)),
        ):
            rows.append(
                Figure(
                    part="translation",
                    name=f"{wire}, {name}",
                    unit="ms",
                    measured=_once_ms(act) / parts,
                    goal=TRANSLATION_GOAL_MS,
                )
            )
    return rows


def _once_ms(act: Callable[[], object]) -> float:
    taken = []
    for _ in range(7):
        began = time.process_time()  # what else the machine does is no part of it
        act()
        taken.append((time.process_time() - began) * 1000)
    return median(taken)


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:3]]
    asyncio.run(main(*(given + [50, 3][len(given) :])))
