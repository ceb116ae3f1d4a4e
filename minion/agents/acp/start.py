"""How an agent that speaks ACP is started: its program, what it is told of itself, and its first messages.

Agents that are known by name get the configuration of their own integration, but for permissions: over ACP they ask, and what they
ask is judged. Others get the addresses of the session's models in the variables that are usual, and a key that does not matter.
"""

import dataclasses
import time
from pathlib import PurePath

from minion.agents.acp.requests import Requests
from minion.agents.acp.wire import Message, Wire, WireClosed
from minion.agents.agent import Given, Server
from minion.agents.configuration.gemini_policy import POLICY, refusals
from minion.agents.program_files import find_program, write_files
from minion.agents.registry import AGENTS, agent_of
from minion.agents.running import Health, RunningProgram
from minion.agents.surroundings import Surroundings
from minion.errors import AgentFailed

PROTOCOL = 1
START_S = 120.0
"""How long a program may take for its first messages."""
KEY = "overlord"
_KNOWN = frozenset(["gemini", "opencode"])
"""Agents whose configuration serves both ways of speaking to them."""
_ASKS = {"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask","webfetch":"deny","websearch":"deny"}'}


def begin(around: Surroundings) -> tuple[Wire, str, Requests]:
    """Start the program and open a session: its wire, the session's id, and what answers its requests. Raises AgentFailed."""
    given = around.given()
    environment = around.environment()
    command = find_program(given.choice, (), environment["PATH"])
    given.home.mkdir(parents=True, exist_ok=True)
    files, extra = _configuration(given)
    write_files(given.home, files)
    program = RunningProgram(
        (*command, *given.choice.arguments),
        directory=given.root,
        environment={**environment, "HOME": str(given.home), **extra},
        waiting=around.session.interrupts.waiting,
        is_spoken_to=True,
    )
    health = Health(program, around.traffic, around.session.brief.limits.silent_s)
    wire = Wire(program, health)
    try:
        session = _open_session(wire, given, around)
    except WireClosed:
        code = program.end()
        raise AgentFailed(
            f"{given.choice.name} ended before it had begun (exit code {code}): "
            f"{wire.last_errors or 'it says nothing of why'}. It has to speak the Agent Client Protocol over its standard input."
        ) from None
    except BaseException:
        program.end()
        raise
    return wire, session, Requests(given)


def _open_session(wire: Wire, given: Given, around: Surroundings) -> str:
    files = {"readTextFile": True, "writeTextFile": True}
    told = {"protocolVersion": PROTOCOL, "clientCapabilities": {"fs": files, "terminal": False}}
    answer = _call(wire, "initialize", told, given, around)
    if answer.get("protocolVersion") != PROTOCOL:
        raise AgentFailed(
            f"{given.choice.name} speaks version {str(answer.get('protocolVersion'))[:20]} of the Agent Client Protocol; "
            f"version {PROTOCOL} is needed."
        )
    can = answer.get("agentCapabilities")
    over = can.get("mcpCapabilities") if isinstance(can, dict) else None
    takes_http = isinstance(over, dict) and over.get("http") is True
    servers = [_server(server) for server in given.servers if server.command or takes_http]
    opened = _call(wire, "session/new", {"cwd": str(given.root), "mcpServers": servers}, given, around)
    session = opened.get("sessionId")
    if not isinstance(session, str) or not session:
        raise AgentFailed(f"{given.choice.name} opened no session: it named none.")
    return session


def _call(wire: Wire, method: str, params: Message, given: Given, around: Surroundings) -> Message:
    """The result of a request before there is a session; the agent may ask nothing meanwhile."""
    number, until = wire.request(method, params), time.monotonic() + START_S
    while time.monotonic() < until:
        message = wire.receive()
        around.tick()
        if message is None:
            continue
        if "method" in message:
            if "id" in message:
                wire.refuse(message["id"], -32601, "There is no session yet.")
        elif message.get("id") == number:
            result = message.get("result")
            if isinstance(result, dict):
                return result
            raise AgentFailed(
                f"{given.choice.name} refused {method}: {_error(message.get('error'))}. Overlord signs in nowhere: "
                "the agent has to work with the key and the address it is given."
            )
    raise AgentFailed(f"{given.choice.name} did not answer {method} within {START_S:.0f} s.")


def _configuration(given: Given) -> tuple[dict[str, str], dict[str, str]]:
    """Files below its home, and its environment."""
    name = PurePath(given.choice.command[0]).name if given.choice.command else ""
    common = {
        "OPENAI_BASE_URL": f"{given.base_url}/v1",
        "OPENAI_API_BASE": f"{given.base_url}/v1",
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": given.base_url,
        "ANTHROPIC_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": given.base_url,
        "GEMINI_API_KEY": KEY,
    }
    if name not in _KNOWN or name not in AGENTS:
        return {}, common
    alone = dataclasses.replace(given, rules="", servers=())
    made = agent_of(name).program(alone, "")
    files = dict(made.files)
    if POLICY in files:
        files[POLICY] = refusals(given.permissions, str(given.root))
    return files, {**common, **made.environment, **_ASKS}


def _server(server: Server) -> Message:
    if server.command:
        program, *rest = server.command
        pairs = [{"name": name, "value": value} for name, value in server.environment.items()]
        return {"name": server.name, "command": program, "args": rest, "env": pairs}
    headers = [{"name": name, "value": value} for name, value in server.headers.items()]
    return {"type": "http", "name": server.name, "url": server.url, "headers": headers}


def _error(error: object) -> str:
    return str(error.get("message", ""))[:500] if isinstance(error, dict) else "it says nothing of why"
