"""Our own part of a session with each agent, beside the agent's program by itself: `python -m bench.agents [rounds]`.

A stand-in plays each agent's output and takes no time of its own. *Start* is the session's process start to the agent's first model
request at the session API, less what the program takes for that when it is run bare. *Exit* is the program's last moment (the native
agent's: its last answer) to the report, less what the bare program needs to be gone. Both are those of a session without a container,
with a ready copy of its repository, as Overlord keeps one.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.far_end import loopback
from bench.minion import repository
from bench.start import made_copy
from bench.table import Figure, publish
from minion.agents.registry import AGENTS
from minion.protocol import ACP, NATIVE, AgentChoice, Outcome
from tests.minion.agent_stand_in import PLAYERS
from tests.minion.session_api import SessionApi, call, done, opened

ROOT = Path(__file__).parents[1]
ROUNDS = 9
GOAL_MS = 150.0
NAMES = (*AGENTS, ACP)
_END = 'The mark is set.\nOVERLORD_EVENT {"type": "PHASE_COMPLETE", "summary": "The mark is set."}'
_WORK = """
def work():
    url = os.environ["OPENAI_BASE_URL"].partition("//")[2]
    host, _, port = url.partition("/")[0].partition(":")
    far = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    far.connect((host, int(port)))
    body = b'{"messages": []}'
    far.send(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    far.recv(65536)
    far.close()
    with open("MARKS", "w") as file:
        file.write("mark 1\\n")

def leave():
    with open(PLACE + "/left", "w") as file:
        file.write(repr(time.perf_counter()))
"""
_SPOKEN = """
import os, time, _socket
work()
os.write(1, SAID)
leave()
os._exit(0)
"""
_ACP = """
import json, os, sys, time, _socket
ANSWERS = {"initialize": {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}},
           "session/new": {"sessionId": "s"}, "session/prompt": {"stopReason": "end_turn"}}
def say(**what):
    os.write(1, json.dumps({"jsonrpc": "2.0", **what}).encode() + b"\\n")
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "session/prompt":
        work()
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": SAID.decode()}}
        say(method="session/update", params={"sessionId": "s", "update": update})
        leave()
    if "id" in asked:
        say(id=asked["id"], result=ANSWERS[asked["method"]])
"""
_ASKED = "".join(
    json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {}}) + "\n"
    for number, method in enumerate(("initialize", "session/new", "session/prompt"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One session, or one bare program, in milliseconds."""

    start_ms: float
    exit_ms: float


def _program(name: str, place: Path) -> Path:
    """A stand-in for an agent. It imports next to nothing."""
    said = _END.encode()
    if name != ACP:
        player = PLAYERS[name]()
        items = [*player.begin(), *player.words(_END), *player.result("", False)]
        said = "".join(f"{item if isinstance(item, str) else json.dumps(item)}\n" for item in items).encode()
    imports, _, acts = (_ACP if name == ACP else _SPOKEN).lstrip().partition("\n")
    lines = [f"#!{sys.executable} -IS", imports, f"PLACE, SAID = {str(place)!r}, {said!r}", _WORK, acts]
    program = place / "program"
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    return program


def _left(place: Path) -> float:
    return float((place / "left").read_text())


def session(name: str) -> Run:
    """A session with an agent, from its process's start to its report."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as directory, ExitStack() as stack:
        place = Path(directory)
        agent = AgentChoice()
        if name != NATIVE:
            agent = AgentChoice(name=name, program=name, command=(str(_program(name, place)),))
        session_api = stack.enter_context(opened(place / "door", repository(), agent=agent))
        session_api.remembers = False
        ready, _ = asyncio.run(made_copy(place / "home", session_api))
        session_api.will(call("edit_file", path="MARKS", old="mark 0\n", new="mark 1\n"), done("It is set."))
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "MINION_SCOPE": session_api.brief.scope.to_json(),
            "OVERLORD_URL": session_api.url,
            "MINION_WORK": str(place / "work"),
            "MINION_READY": str(ready),
        }
        with (place / "log").open("wb") as log:
            began = time.perf_counter()
            process = subprocess.Popen([sys.executable, "-m", "minion"], env=environment, stderr=log)
            session_api.wait_for(lambda: bool(session_api.reports))
            reported = time.perf_counter()
            process.wait()
        _check(session_api, place)
        left = session_api.turns[-1][1] if name == NATIVE else _left(place)
        return Run(
            start_ms=(session_api.turns[0][0] - began) * 1000,
            exit_ms=(reported - left) * 1000,
        )


def _check(session_api: SessionApi, place: Path) -> None:
    report = session_api.report
    if report.outcome is not Outcome.COMPLETE or session_api.files()["MARKS"] != "mark 1":
        raise SystemExit(f"{report}\n{(place / 'log').read_text()[-2000:]}")


def bare(name: str) -> Run:
    """The program by itself, as its session starts it."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as directory:
        place = Path(directory)
        program = _program(name, place)
        with opened(place / "door", {"MARKS": ""}) as session_api, loopback(session_api) as url:
            session_api.remembers = False
            session_api.will(done())
            asked = place / "asked"
            asked.write_text(_ASKED)
            with asked.open("rb") as stdin:
                began = time.perf_counter()
                subprocess.run(
                    [program],
                    env={"PATH": os.environ["PATH"], "OPENAI_BASE_URL": url},
                    cwd=place,
                    stdin=stdin,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                ended = time.perf_counter()
            while not session_api.turns:  # written down once it is answered
                time.sleep(0.0005)
            start_ms = (session_api.turns[0][0] - began) * 1000
            # One that is spoken to has answered, and need not be gone.
            return Run(start_ms=start_ms, exit_ms=0.0 if name == ACP else (ended - _left(place)) * 1000)


def figures(ours: Mapping[str, Sequence[tuple[Run, Run]]], native: Sequence[Run]) -> list[Figure]:
    """Each agent's start and exit over its bare program, beside the native agent's."""
    rows = []
    for field in ("start", "exit"):
        beside = median(getattr(run, f"{field}_ms") for run in native)
        for name, pairs in ours.items():
            own = [getattr(run, f"{field}_ms") - getattr(alone, f"{field}_ms") for run, alone in pairs]
            label = f"{name}, {'start' if field == 'start' else 'exit to report'}, own part"
            rows.append(
                Figure(
                    part="agents",
                    name=label,
                    unit="ms",
                    measured=median(own),
                    goal=GOAL_MS,
                    yardstick="native",
                    beside=beside,
                )
            )
    return rows


def main(rounds: int) -> None:
    """Print the table."""
    for name in (*NAMES, NATIVE):
        session(name)  # bytecode and file caches
    ours: dict[str, list[tuple[Run, Run]]] = {name: [] for name in NAMES}
    native = []
    for _ in range(rounds):
        native.append(session(NATIVE))
        for name in NAMES:
            ours[name].append((session(name), bare(name)))
    load = os.getloadavg()[0]
    print(f"Sessions as processes, {rounds} rounds; load {load:.1f} on {os.cpu_count()} processors")
    publish(figures(ours, native))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
