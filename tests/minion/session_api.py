"""A small real door for one session: HTTP on a unix socket, git by `http-backend`, completions from a list.

It can do what the daemon's door does not easily do: vanish, cut connections, send replies that are no replies.
"""

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

from minion.portfolio import (
    COMPLETION_PATH,
    ESCALATIONS_PATH,
    IDLE_PATH,
    KNOWLEDGE_PATH,
    PLAN_PATH,
    TASKS_PATH,
    StopVerdict,
)
from minion.protocol import (
    CONTRACT_PATH,
    DISCOVERY_PATH,
    EXPLORATION,
    MCP_PATH,
    MESSAGES_PATH,
    SCOPE_PATH,
    Brief,
    CheckReport,
    CheckStep,
    Event,
    Issue,
    Limits,
    Message,
    Messages,
    MessagesTaken,
    Report,
    Scope,
    SessionKind,
    decode,
    encode,
)

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.invalid",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.invalid",
}
PORTFOLIO_PATHS = (PLAN_PATH, TASKS_PATH, KNOWLEDGE_PATH, ESCALATIONS_PATH, COMPLETION_PATH, IDLE_PATH)
BRANCH = "minion/issue-1"

Wire = bytes | Callable[["_Handler"], None]
"""What a completion is answered with: a body for status 200, or a function that misbehaves."""


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=directory, env=GIT_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


def message(text: str | None = None, *calls: tuple[str, Any], finish: str = "", **more: Any) -> bytes:
    """A completion with text and tool calls; arguments that are not a string are made JSON."""
    asked = [
        {
            "id": f"id-{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    said = {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {}), **more}
    choice = {"index": 0, "message": said, "finish_reason": finish or ("tool_calls" if asked else "stop")}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def call(tool: str, **arguments: Any) -> bytes:
    return message(None, (tool, arguments))


def done(summary: str = "done") -> bytes:
    return call("task_complete", summary=summary)


def status(code: int, error: str = "broken", words: str = "no") -> Callable[["_Handler"], None]:
    return lambda handler: handler.refuse(code, error, words)


def cut(handler: "_Handler") -> None:
    """Begin an answer and drop the connection."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


class Held:
    """A reply the test lets go of when it wants to; the connection may be gone by then."""

    def __init__(self, reply: bytes = b"") -> None:
        self.reached = threading.Event()
        self.released = threading.Event()
        self._reply = reply

    def __call__(self, handler: Any) -> None:
        self.reached.set()
        assert self.released.wait(30)
        if self._reply:
            handler.answer(200, self._reply)


@dataclass
class SessionApi:
    """One session's external service: what it serves, and what it was sent."""

    root: Path
    brief: Brief
    script: list[Wire] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    raw_requests: list[bytes] = field(default_factory=list)
    exploration: list[Wire] = field(default_factory=list)
    """What explorations are answered with, one reply after the other, and the last one again and again."""
    explorations: list[dict[str, Any]] = field(default_factory=list)
    """Their requests, which are not among the session's own."""
    events: list[Event] = field(default_factory=list)
    reports: list[Report | CheckReport] = field(default_factory=list)
    answers: list[Callable[["_Handler"], None]] = field(default_factory=list)
    messages: list[tuple[int, Message]] = field(default_factory=list)
    """What a person says, and after how many requests to the model they say it."""
    taken: list[tuple[int, int]] = field(default_factory=list)
    """The turn at which each message was acknowledged, and its number."""
    recorded: list[tuple[str, Any]] = field(default_factory=list)
    """What was proposed or recorded for a repository's first job: the path, and what was sent."""
    record_answers: list[Wire] = field(default_factory=list)
    """What that is answered with, one after the other."""
    said: list[tuple[str, Any]] = field(default_factory=list)
    """What was said to the portfolio: the path, and what was sent there."""
    portfolio: dict[str, list[Wire]] = field(default_factory=dict)
    """What that is answered with, by path, one after the other. A session may end where nothing is written down for it."""
    paths: list[str] = field(default_factory=list)
    turns: list[tuple[float, float]] = field(default_factory=list)
    """When each completion was asked for, and when it was answered."""
    mcp: Callable[["_Handler", dict[str, Any]], None] = lambda handler, _message: handler.answer(404)
    """What a message to an MCP server is answered with."""
    held_brief: Callable[["_Handler"], None] | None = None
    """Called before the brief is given."""
    cuts_git: int = 0
    """How many of git's requests have their connection closed without a word."""
    refuses_reports: bool = False
    remembers: bool = True
    """Whether requests are kept, and read to see how far the conversation is; a benchmark wants neither."""
    happened: threading.Condition = field(default_factory=threading.Condition)
    _server: "_Server | None" = None

    @property
    def socket(self) -> Path:
        return self.root / "s"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def repository(self) -> Path:
        return self.root / "repo.git"

    @property
    def report(self) -> Report:
        [report] = self.reports
        assert isinstance(report, Report)
        return report

    @property
    def check_report(self) -> CheckReport:
        [report] = self.reports
        assert isinstance(report, CheckReport)
        return report

    def will(self, *script: Wire) -> None:
        self.script.extend(script)

    def will_explore(self, *script: Wire) -> None:
        self.exploration.extend(script)

    def open(self) -> None:
        self.socket.unlink(missing_ok=True)
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def vanish(self) -> None:
        """Stop listening and cut every connection, as a daemon that was killed."""
        assert self._server is not None
        self._server.shutdown()
        self._server.cut_all()
        self._server.server_close()
        self._server = None
        self.socket.unlink(missing_ok=True)

    def note(self, keep: Callable[[], None]) -> None:
        with self.happened:
            keep()
            self.happened.notify_all()

    def wait_for(self, fact: Callable[[], bool]) -> None:
        with self.happened:
            assert self.happened.wait_for(fact, timeout=180)

    def tool_results(self, turn: int) -> list[str]:
        """What the model was told by tools after its reply number `turn` (from 1)."""
        said = next(
            request["messages"]
            for request in self.requests
            if sum(item["role"] == "assistant" for item in request["messages"]) == turn
        )
        last = max(index for index, item in enumerate(said) if item["role"] == "assistant")
        return [item["content"] for item in said[last:] if item["role"] == "tool"]

    def files(self, ref: str = BRANCH) -> dict[str, str]:
        names = git(self.repository, "ls-tree", "-r", "--name-only", ref).splitlines()
        return {name: git(self.repository, "show", f"{ref}:{name}") for name in names}


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, session_api: SessionApi) -> None:
        self.session_api = session_api
        self.connections: set[socket.socket] = set()
        super().__init__(str(session_api.socket), _Handler)

    def cut_all(self) -> None:
        for connection in tuple(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was cut is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""

    @property
    def session_api(self) -> SessionApi:
        return self.server.session_api

    def do_GET(self) -> None:
        self.session_api.paths.append(self.path)
        if "/repo.git" in self.path:
            return self._git(b"")
        if self.path == "/session/brief":
            if self.session_api.held_brief is not None:
                self.session_api.held_brief(self)
            return self.answer(200, encode(self.session_api.brief))
        if self.path == SCOPE_PATH:
            return self.answer(200, self.session_api.brief.scope.to_json().encode())
        if self.path.startswith(KNOWLEDGE_PATH):
            return self._portfolio(self.path, None)
        return self.session_api.answers.pop(0)(self)

    def do_POST(self) -> None:
        arrived = time.perf_counter()
        self.session_api.paths.append(self.path)
        self.session_api.note(lambda: None)
        body = self._body()
        if "/repo.git" in self.path:
            return self._git(body)
        if self.path == "/session/events":
            self.session_api.note(lambda: self.session_api.events.append(decode(Event, body)))
            return self.answer(202)
        if self.path.startswith(MCP_PATH):
            return self.session_api.mcp(self, json.loads(body))
        if self.path == MESSAGES_PATH:
            return self._messages(decode(MessagesTaken, body))
        if self.path in (CONTRACT_PATH, DISCOVERY_PATH):
            return self._record(json.loads(body))
        if self.path in PORTFOLIO_PATHS:
            return self._portfolio(self.path, json.loads(body))
        if self.path == "/session/report" and self.session_api.refuses_reports:
            return self.refuse(409, "reported", "this session has reported already")
        if self.path == "/session/report":
            kind: Any = Report if self.session_api.brief.kind is SessionKind.WORK else CheckReport
            self.session_api.note(lambda: self.session_api.reports.append(decode(kind, body)))
            return self.answer(204)
        self._complete(body)
        return self.session_api.turns.append((arrived, time.perf_counter()))

    def answer(self, code: int, body: bytes = b"") -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code: int, error: str, words: str) -> None:
        self.answer(code, json.dumps({"error": {"code": error, "message": words}}).encode())

    def _record(self, sent: object) -> None:
        self.session_api.note(lambda: self.session_api.recorded.append((self.path, sent)))
        wire = self.session_api.record_answers.pop(0)
        if isinstance(wire, bytes):
            self.answer(200, wire)
        else:
            wire(self)

    def _portfolio(self, path: str, sent: object) -> None:
        self.session_api.note(lambda: self.session_api.said.append((path, sent)))
        wires = self.session_api.portfolio.get(path.partition("?")[0])
        self._said(wires.pop(0) if wires else encode(StopVerdict(allowed=True)))

    def _messages(self, asked: MessagesTaken) -> None:
        """What was said so far, until it was taken."""
        self.session_api.note(
            lambda: self.session_api.taken.extend((asked.turn, number) for number in asked.taken)
        )
        known = {number for _, number in self.session_api.taken}
        said = [
            item
            for after, item in self.session_api.messages
            if after <= len(self.session_api.requests) and item.id not in known
        ]
        self.answer(200, encode(Messages(messages=tuple(said))))

    def _complete(self, body: bytes) -> None:
        turn = len(self.session_api.turns)
        if self.session_api.remembers:
            request = json.loads(body)
            if any(str(said["content"]).startswith(EXPLORATION) for said in request["messages"][:1]):
                self._explore(request)
                return
            turn = sum(said["role"] == "assistant" for said in request["messages"])
            self.session_api.note(lambda: self.session_api.requests.append(request))
            self.session_api.raw_requests.append(body)
        self._said(self.session_api.script[min(turn, len(self.session_api.script) - 1)])

    def _explore(self, request: dict[str, Any]) -> None:
        script = self.session_api.exploration
        wire = script.pop(0) if len(script) > 1 else script[0]
        self.session_api.note(lambda: self.session_api.explorations.append(request))
        self._said(wire)

    def _said(self, wire: Wire) -> None:
        if isinstance(wire, bytes):
            self.answer(200, wire)
        else:
            wire(self)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _git(self, body: bytes) -> None:
        if self.session_api.cuts_git:
            self.session_api.cuts_git -= 1
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        path, _, query = self.path.partition("?")
        environment = {
            **GIT_ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.session_api.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path.removeprefix("/session"),
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "minion",
        }
        ran = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        )
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        found = re.search(rb"^Status: (\d+)", head, re.M)
        self.send_response(int(found.group(1)) if found else 200)
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def make_repository(root: Path, files: Mapping[str, str | bytes], branch: str = "main") -> tuple[Path, str]:
    """A bare repository with one commit on `branch`, and that commit."""
    tree = root / "seed"
    tree.mkdir(parents=True)
    git(tree, "init", "--quiet", "-b", branch)
    commit(tree, files, "seed")
    bare = root / "repo.git"
    git(root, "clone", "--quiet", "--bare", str(tree), str(bare))
    git(bare, "config", "http.receivepack", "true")
    git(bare, "config", "receive.autogc", "false")
    return bare, git(bare, "rev-parse", branch)


def commit(tree: Path, files: Mapping[str, str | bytes | None], words: str) -> str:
    for name, content in files.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content.encode() if isinstance(content, str) else content)
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", words)
    return git(tree, "rev-parse", "HEAD")


@contextmanager
def opened(
    root: Path,
    files: Mapping[str, str | bytes],
    *,
    change: Mapping[str, str | bytes | None] | None = None,
    **brief: Any,
) -> Iterator[SessionApi]:
    """An open door over a repository with these files; `change` is committed to the session's branch."""
    repository, base = make_repository(root, files)
    head = base
    if change is not None:
        head = commit(root / "seed", change, "change")
        git(root / "seed", "push", "--quiet", str(repository), f"HEAD:refs/heads/{BRANCH}")
    session_api = SessionApi(root=root, brief=make_brief(base, head, **brief))
    session_api.open()
    try:
        yield session_api
    finally:
        if session_api._server is not None:
            session_api.vanish()


def make_brief(base: str = "0" * 40, head: str = "0" * 40, **changes: Any) -> Brief:
    given: dict[str, Any] = {
        "session_id": "s-1",
        "kind": SessionKind.WORK,
        "role": "minion",
        "repository": "demo/calc",
        "base_branch": "main",
        "base_sha": base,
        "branch": BRANCH,
        "head_sha": head,
        "issue": Issue(number=1, title="Add is wrong", body="It subtracts.", author="alice"),
        "scope": Scope.unrestricted(),
        "limits": Limits(),
    }
    return Brief(**(given | changes))


def check_step(name: str = "tests", **more: Any) -> CheckStep:
    return CheckStep(name=name, **more)
