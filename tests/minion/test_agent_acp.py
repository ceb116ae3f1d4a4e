"""Agents that speak ACP: what they ask is judged before it runs, and whatever they say, their turn ends."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from minion.agents.acp.conversation import AcpConversation
from minion.agents.acp.guard import Guard
from minion.agents.acp.requests import Requests
from minion.agents.acp.turn import Turn
from minion.agents.acp.wire import RequestRefused
from minion.agents.agent import Given, Permissions, Server, Stopped
from minion.agents.surroundings import Surroundings, Teller
from minion.errors import AgentFailed, Interrupted
from minion.heartbeat import Heartbeat
from minion.loopback import Traffic
from minion.protocol import AgentChoice, Limits
from minion.session import Session
from tests.minion.conftest import make_session

CAN = {"result": {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}}
OPENED = {"result": {"sessionId": "s-1"}}
RECORDED = Path(__file__).parent / "recorded_output"
MAY = Permissions(
    writable=("src/**", "*.toml"),
    closed=(".git/**", "src/closed.py"),
    secret=("keys/**",),
    commands=("pytest", "git"),
)
SERVERS = (
    Server(name="overlord", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer x"}),
    Server(name="docs", command=("docs-server", "--stdio"), environment={"A": "b"}),
)


def given(root: Path, permissions: Permissions = MAY, command: tuple[str, ...] = ()) -> Given:
    return Given(
        choice=AgentChoice(name="acp:stub", program="acp", command=command),
        role="developer",
        rules="The rules.",
        root=root,
        home=root.parent / "agent",
        base_url="http://127.0.0.1:1",
        model="m",
        servers=SERVERS,
        permissions=permissions,
        turns=9,
        time_s=600,
        command_s=60,
        context_tokens=100_000,
    )


@dataclass
class Agent:
    """A scripted agent, and the session it works in."""

    session: Session
    home: Path
    permissions: Permissions = MAY
    traffic: Traffic = field(default_factory=Traffic)
    ticked: Callable[[], None] = lambda: None
    decided: bool = False
    open: list[AcpConversation] = field(default_factory=list)

    def talk(
        self, *prompts: list[Any], initialize: Any = CAN, new: Any = OPENED, command: tuple[str, ...] = ()
    ) -> AcpConversation:
        """A conversation with an agent that does this, prompt by prompt."""
        script = {"initialize": initialize, "new": new, "prompts": prompts}
        (self.home / "script.json").write_text(json.dumps(script))
        stub = (sys.executable, str(Path(__file__).with_name("acp_stub.py")), str(self.home))
        self.open.append(AcpConversation(self.around(command or stub)))
        return self.open[-1]

    def around(self, command: tuple[str, ...] = ()) -> Surroundings:
        """What its conversation has of the session."""
        told = given(self.session.territory.root, self.permissions, command)
        beat = Heartbeat(self.session.session_api)
        return Surroundings(
            session=self.session,
            given=lambda: told,
            environment=lambda: dict(self.session.command_environment),
            beat=beat,
            traffic=self.traffic,
            teller=Teller(beat),
            tick=self.ticked,
            is_decided=lambda: self.decided,
        )

    def heard(self, method: str = "") -> list[dict[str, Any]]:
        """What it was sent: requests of a method, or the answers to its own."""
        lines = [json.loads(line) for line in (self.home / "heard.jsonl").read_text().splitlines()]
        return [line for line in lines if line.get("method", "") == method]

    @property
    def root(self) -> Path:
        """The working copy."""
        return self.session.territory.root


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    files = {"src/a.py": "a\nb\nc\n", "src/closed.py": "no\n", "keys/k": "k\n", "README.md": "r\n"}
    session = make_session(tmp_path / "m", files, limits=Limits(silent_s=60))
    (home := tmp_path / "stub").mkdir()
    agent = Agent(session, home)
    yield agent
    for conversation in agent.open:
        conversation.close()


def test_words_in_pieces_become_text_and_a_sentinel_line(agent: Agent) -> None:
    talk = agent.talk(
        [
            ["say", "First.\n"],
            ["update", "tool_call", {"toolCallId": "1", "title": "Look", "kind": "read"}],
            ["say", "Do", 'ne.\nOVERLORD_EVENT {"type":"PHASE', '_COMPLETE","summary":"It adds."}'],
        ]
    )
    attempt = talk.ask("Do it.")
    assert attempt.text.startswith("Done.\n")
    assert attempt.sentinel is not None
    assert attempt.sentinel.text == "It adds."
    assert (attempt.exit_code, attempt.stopped, attempt.error, attempt.failed) == (None, None, "", False)
    assert attempt.conversation == "s-1"


def test_a_second_prompt_goes_on_in_the_same_session(agent: Agent) -> None:
    talk = agent.talk([["say", "One."]], [["say", "Two."]])
    assert talk.ask("First prompt.").text == "One."
    assert talk.ask("Second prompt.").text == "Two."
    assert len(agent.heard("session/new")) == 1
    texts = [[block["text"] for block in one["params"]["prompt"]] for one in agent.heard("session/prompt")]
    assert texts == [["The rules.", "First prompt."], ["Second prompt."]]


def test_a_program_that_has_ended_is_begun_anew(agent: Agent) -> None:
    talk = agent.talk([["say", "One."], ["die", "out of memory"]])
    attempt = talk.ask("First prompt.")
    assert (attempt.exit_code, attempt.error, attempt.text) == (7, "out of memory", "One.")
    assert talk.ask("Again.").exit_code == 7
    assert len(agent.heard("session/new")) == 2
    assert agent.heard("session/prompt")[1]["params"]["prompt"][0]["text"] == "The rules."


def test_a_refused_write_never_runs_and_an_allowed_one_does(agent: Agent) -> None:
    inside, outside = str(agent.root / "src/new.py"), str(agent.root / "README.md")
    agent.talk([["write", inside, "new"], ["write", outside, "changed"], ["say", "Done."]]).ask("Do it.")
    assert (agent.root / "src/new.py").read_text() == "new"
    assert (agent.root / "README.md").read_text() == "r\n"


def test_a_turn_that_ends_with_a_refused_call_is_gone_on_with(agent: Agent) -> None:
    outside = str(agent.root / "README.md")
    talk = agent.talk([["say", "I write."], ["write", outside, "x"]], [["say", "Without it, then."]])
    assert talk.ask("Do it.").text == "Without it, then."
    [_, again] = agent.heard("session/prompt")
    assert f"This session may not change {outside}" in again["params"]["prompt"][0]["text"]


def test_an_agent_that_does_nothing_but_refused_calls_comes_to_an_end(agent: Agent) -> None:
    attempt = agent.talk(*[[["write", str(agent.root / "README.md"), "x"]]] * 6).ask("Do it.")
    assert (attempt.text, attempt.error) == ("", "")
    assert len(agent.heard("session/prompt")) == 6


CALLS = [
    ({"kind": "edit", "locations": [{"path": "src/a.py"}]}, True),
    ({"kind": "edit", "locations": [{"path": "README.md"}]}, False),
    ({"kind": "edit", "content": [{"type": "diff", "path": "src/a.py"}]}, True),
    (
        {
            "kind": "edit",
            "content": [{"type": "diff", "path": "src/closed.py"}],
            "locations": [{"path": "src/a.py"}],
        },
        False,
    ),
    ({"kind": "edit", "rawInput": {"filePath": "src/a.py", "content": "x"}}, True),
    ({"kind": "edit", "rawInput": {"file_path": "src/../README.md"}}, False),
    ({"kind": "edit", "rawInput": {"edits": [{"abs_path": ".git/config"}]}}, False),
    ({"kind": "edit", "title": "README.md"}, False),
    ({"kind": "delete", "locations": [{"path": "file:///etc/passwd"}]}, False),
    ({"kind": "move", "rawInput": {"source": "src/a.py", "destination": "../a.py"}}, False),
    ({"kind": "read", "locations": [{"path": "README.md"}]}, True),
    ({"kind": "read", "locations": [{"path": "keys/k"}]}, False),
    ({"kind": "read", "locations": [{"path": "/etc/passwd"}]}, False),
    ({"kind": "read", "rawInput": {"path": "README.md", "content": "no reading"}}, False),
    ({"kind": "search", "rawInput": {"pattern": "x"}}, True),
    ({"kind": "execute", "rawInput": {"command": "pytest -q && git status"}}, True),
    ({"kind": "execute", "rawInput": {"command": "pytest; curl x"}}, False),
    ({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "git status"]}}, True),
    ({"kind": "execute", "rawInput": {"command": ["curl", "x"]}}, False),
    ({"kind": "execute", "rawInput": {"command": {"a": 1}}}, False),
    ({"kind": "execute", "rawInput": {"command": "git status", "cwd": "/"}}, False),
    ({"kind": "execute", "title": "git status"}, True),
    ({"kind": "execute", "title": "rm -rf src"}, False),
    ({"kind": "read", "rawInput": {"command": "rm -rf src"}}, False),
    ({"kind": "fetch", "title": "http://x"}, False),
    ({"kind": "other", "title": "ask_question (overlord MCP Server)"}, True),
    ({"kind": "other", "title": "mcp__overlord__ask_question"}, True),
    ({"kind": "other", "title": "edit myoverlord", "rawInput": {"path": "README.md"}}, False),
    ({"kind": "other", "title": "cat overlord", "rawInput": {"command": "curl x"}}, False),
    ({"kind": "other", "title": "external_directory", "rawInput": {"filepath": "/etc"}}, False),
    ({"kind": "other", "title": "Something"}, False),
    ({"kind": 7, "title": None, "locations": "x", "content": {}, "rawInput": [1]}, False),
    ({"kind": "edit", "rawInput": {"a": [{"path": "src/a.py"}] * 3000}}, False),
    ({}, False),
]


@pytest.mark.parametrize(("call", "runs"), CALLS, ids=[json.dumps(call)[:60] for call, _ in CALLS])
def test_a_call_is_judged_by_all_it_names(agent: Agent, call: dict[str, Any], runs: bool) -> None:
    assert (Requests(given(agent.root)).refusal(call) == "") is runs


def test_what_was_said_of_a_call_before_counts_when_it_is_asked_about(agent: Agent) -> None:
    requests = Requests(given(agent.root))
    requests.remember({"toolCallId": "1", "kind": "edit", "locations": [{"path": "README.md"}]})
    asked = {"toolCall": {"toolCallId": "1"}, "options": [{"optionId": "a", "kind": "allow_once"}]}
    assert requests.answer("session/request_permission", asked) == {"outcome": {"outcome": "cancelled"}}
    assert requests.refused


def test_leave_is_given_for_once_only(agent: Agent) -> None:
    asked = {
        "toolCall": {"kind": "edit", "locations": [{"path": "src/a.py"}]},
        "options": [{"optionId": "a", "kind": "allow_always"}],
    }
    answer = Requests(given(agent.root)).answer("session/request_permission", asked)
    assert answer == {"outcome": {"outcome": "cancelled"}}


def test_without_a_list_any_command_runs_and_with_an_empty_one_none(agent: Agent) -> None:
    call = {"kind": "execute", "title": "make all"}
    for commands, runs in ((None, True), ((), False)):
        permissions = Permissions(writable=("**",), closed=(), secret=(), commands=commands)
        assert (Requests(given(agent.root, permissions)).refusal(call) == "") is runs


def test_a_reader_changes_nothing(agent: Agent) -> None:
    reader = Permissions(writable=("**",), closed=(), secret=(), commands=None, is_reader=True)
    assert not Guard(reader, agent.root).allows_write("src/a.py")


def test_links_are_followed_before_a_path_is_judged(agent: Agent) -> None:
    guard = Guard(MAY, agent.root)
    (agent.root / "src/out").symlink_to("/tmp")
    (agent.root / "src/key").symlink_to("../keys/k")
    (agent.root / "src/readme").symlink_to("../README.md")
    for path in ("src/out/x", "src/key", "src/readme"):
        assert not guard.allows_write(path)
    assert not guard.allows_read("src/key")
    assert guard.allows_read("src/readme")
    for path in ("", "\0", "~/x", "x" * 5000, "/", ".."):
        assert not guard.allows_write(path)


FILE_REQUESTS = [
    ("fs/write_text_file", {"path": "README.md", "content": "x"}, -32003),
    ("fs/write_text_file", {"path": "src/out/x", "content": "x"}, -32003),
    ("fs/write_text_file", {"path": "src/pipe", "content": "x"}, -32003),
    ("fs/write_text_file", {"path": "src", "content": "x"}, -32003),
    ("fs/write_text_file", {"path": "src/a.py/b", "content": "x"}, -32003),
    ("fs/write_text_file", {"path": "src/a.py", "content": 1}, -32602),
    ("fs/write_text_file", {"path": 1, "content": "x"}, -32602),
    ("fs/read_text_file", {"path": "keys/k"}, -32003),
    ("fs/read_text_file", {"path": "/etc/passwd"}, -32003),
    ("fs/read_text_file", {"path": "src/pipe"}, -32003),
    ("fs/read_text_file", {"path": "docs/none"}, -32002),
    ("fs/read_text_file", {}, -32602),
    ("terminal/create", {"command": "sh"}, -32601),
]


@pytest.mark.parametrize(("method", "params", "code"), FILE_REQUESTS)
def test_requests_that_are_refused(agent: Agent, method: str, params: dict[str, Any], code: int) -> None:
    (agent.root / "src/out").symlink_to("/tmp")
    os.mkfifo(agent.root / "src/pipe")
    with pytest.raises(RequestRefused) as refused:
        Requests(given(agent.root)).answer(method, params)
    assert refused.value.code == code
    assert (agent.root / "README.md").read_text() == "r\n"


def test_files_are_read_and_written_in_the_working_copy(agent: Agent) -> None:
    requests = Requests(given(agent.root))
    path = str(agent.root / "src/deep/new.py")
    assert requests.answer("fs/read_text_file", {"path": path}) == {"content": ""}
    assert requests.answer("fs/write_text_file", {"path": path, "content": "é\n"}) is None
    assert Path(path).read_text() == "é\n"
    assert requests.answer("fs/write_text_file", {"path": path, "content": ""}) is None
    assert Path(path).read_text() == ""
    lines = {"path": "src/a.py", "line": 2, "limit": 1}
    assert requests.answer("fs/read_text_file", lines) == {"content": "b\n"}


def test_what_is_no_message_is_passed_over(agent: Agent) -> None:
    raw = [
        "{",
        "[]",
        "null",
        '"x"',
        "[" * 100_000,
        '{"id": 99, "result": {}}',
        '{"id": {}, "result": 1}',
        "\x1b[0m",
    ]
    raw += [
        '{"method": 7}',
        '{"method": "session/update"}',
        '{"method": "session/update", "params": []}',
        "{}",
    ]
    steps: list[list[Any]] = [["raw", line] for line in raw]
    steps += [["update", "agent_message_chunk", {"content": {"type": "text", "text": 1}}]]
    steps += [["update", "tool_call", {"toolCallId": {}, "rawInput": [], "locations": 1, "content": "x"}]]
    steps += [["update", "nothing_known", {}], ["ask", "session/unknown", {}], ["say", "Still here."]]
    attempt = agent.talk(steps).ask("Do it.")
    assert (attempt.text, attempt.error) == ("Still here.", "")
    [answer] = agent.heard()[-1:]
    assert answer["error"] == {"code": -32601, "message": "Method not found: session/unknown"}


def test_a_request_too_long_to_be_read_is_answered(agent: Agent) -> None:
    long = {"path": str(agent.root / "src/long.py"), "content": "x" * 2_000_000}
    attempt = agent.talk([["ask", "fs/write_text_file", long], ["say", "Still here."]]).ask("Do it.")
    assert attempt.text == "Still here."
    assert agent.heard()[-1]["error"]["code"] == -32600
    assert not (agent.root / "src/long.py").exists()


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (["end", {"stopReason": "end_turn"}], ""),
        (["end", {"stopReason": "max_tokens"}], "Its reply was longer than its model allows."),
        (["end", {"stopReason": "refusal"}], "The agent refused to go on."),
        (["end", {}], "It ended its turn in a way that the protocol does not know."),
        (["error", {"code": -32603, "message": "Budget spent (402)"}], "Budget spent (402)"),
        (["error", {}], "It says that it failed, and not why."),
    ],
)
def test_how_a_turn_ends(agent: Agent, step: list[Any], error: str) -> None:
    attempt = agent.talk([step]).ask("Do it.")
    assert (attempt.error, attempt.failed, attempt.exit_code) == (error, bool(error), None)


@pytest.mark.parametrize(
    ("initialize", "new", "says"),
    [
        ({"result": {"protocolVersion": 2}}, OPENED, "speaks version 2"),
        ({"result": []}, OPENED, "refused initialize"),
        (CAN, {"error": {"code": -32000, "message": "Authentication required"}}, "Authentication required"),
        (CAN, {"result": {}}, "opened no session"),
    ],
)
def test_an_agent_that_cannot_begin_says_why(agent: Agent, initialize: Any, new: Any, says: str) -> None:
    with pytest.raises(AgentFailed, match=says):
        agent.talk(initialize=initialize, new=new).ask("Do it.")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("no-such-agent", "acp"), "is missing"),
        (("sh", "-c", "echo unknown option: acp >&2; exit 3"), "unknown option: acp"),
    ],
)
def test_a_program_that_is_no_agent_is_named(agent: Agent, command: tuple[str, ...], says: str) -> None:
    with pytest.raises(AgentFailed, match=says):
        agent.talk(command=command).ask("Do it.")


def test_servers_are_offered_over_what_the_agent_can(agent: Agent) -> None:
    agent.talk([]).ask("Do it.")
    agent.talk([], initialize={"result": {"protocolVersion": 1}}).ask("Do it.")
    docs = {
        "name": "docs",
        "command": "docs-server",
        "args": ["--stdio"],
        "env": [{"name": "A", "value": "b"}],
    }
    headers = [{"name": "Authorization", "value": "Bearer x"}]
    overlord = {"type": "http", "name": "overlord", "url": "http://127.0.0.1:1/mcp", "headers": headers}
    assert [one["params"]["mcpServers"] for one in agent.heard("session/new")] == [[overlord, docs], [docs]]


def test_a_silent_agent_is_told_to_stop_and_can_be_asked_again(tmp_path: Path) -> None:
    session = make_session(tmp_path / "m", {"a": "a"}, limits=Limits(silent_s=4))
    (home := tmp_path / "stub").mkdir()
    talk = (agent := Agent(session, home)).talk([["hang"]], [["say", "Back."]])
    attempt = talk.ask("Do it.")
    assert (attempt.stopped, attempt.exit_code) == (Stopped.SILENT, None)
    assert talk.ask("Again.").text == "Back."
    assert len(agent.heard("session/new")) == 1
    talk.close()


def test_an_agent_that_does_not_stop_is_ended_with_all_it_started(tmp_path: Path) -> None:
    session = make_session(tmp_path / "m", {"a": "a"}, limits=Limits(turns=2))
    (home := tmp_path / "stub").mkdir()
    agent = Agent(session, home)

    def spend() -> None:
        agent.traffic.model_requests += 1

    agent.ticked = spend
    attempt = agent.talk([["spawn", "sleep", "600"], ["say", "Working."], ["deaf"]]).ask("Do it.")
    assert (attempt.stopped, attempt.exit_code) == (Stopped.TURNS, None)
    running = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _children()]
    assert not [one for one in running if b"acp_stub" in one or b"sleep" in one]


def test_an_interrupt_tells_it_to_stop_and_ends_the_session(agent: Agent) -> None:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    agent.session.interrupts.listen()
    agent.ticked = lambda: os.kill(os.getpid(), signal.SIGTERM)
    talk = agent.talk([["hang"]])
    try:
        with pytest.raises(Interrupted):
            talk.ask("Do it.")
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    talk.close()


def _children() -> list[str]:
    return [
        word for task in Path("/proc/self/task").iterdir() for word in (task / "children").read_text().split()
    ]


@pytest.mark.parametrize("name", ["gemini", "opencode"])
def test_recorded_requests_are_judged_and_recorded_words_read(agent: Agent, name: str) -> None:
    """Both were asked for a README, a new file below src, curl, git status and a key; then for another file."""
    text = (RECORDED / f"acp_{name}.jsonl").read_text().replace("/workspace", str(agent.root))
    requests, turn = Requests(given(agent.root)), Turn(agent.around())
    allowed = []
    for message in map(json.loads, text.splitlines()):
        match message:
            case {"method": "session/update", "params": {"update": update}}:
                turn.update(update, requests)
            case {"method": "session/request_permission", "params": params}:
                answer = requests.answer("session/request_permission", params)
                allowed.append("once" in str(answer))
            case {"method": "fs/write_text_file" as method, "params": params}:
                requests.answer(method, params)
    expected = [False, True, False, True, True] if name == "opencode" else [False, True, False, True]
    assert allowed == expected
    assert [why.partition(" may not ")[2] for why in requests.refused] == [
        f"change {agent.root}/README.md",
        "run: curl http://x",
    ]
    assert (agent.root / "src/new.py").read_text() == (agent.root / "src/two.py").read_text() == "made\n"
    turn.end_words()
    assert turn.words.sentinel is not None
    assert turn.words.sentinel.text == "Which?"
    assert turn.words.text.startswith("Second.")
