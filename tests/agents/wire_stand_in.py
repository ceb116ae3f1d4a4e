#!/usr/bin/env python3
"""A stand-in for the program of a coding agent: `wire_stand_in.py NAME` speaks that agent's wire to the session's gateway, with streaming
and tools, does by itself what the model calls, and says the events that the agent is documented to say.

It finds its endpoint, its role and the session's own tools where the real one does. `--linger` keeps it running after its last event.
It uses nothing of the project.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
KEPT = Path.home() / "stand-in.json"
"""Its conversation, for when it is resumed."""


class Call(NamedTuple):
    """A tool that the model calls."""

    id: str
    name: str
    arguments: Json


class Reply(NamedTuple):
    """What the model said."""

    text: str
    calls: list[Call]


def post(address: str, body: Json, headers: dict[str, str]) -> bytes:
    """What a server answers; a refusal ends the program, as it ends the real one."""
    given = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(address, json.dumps(body).encode(), given)
    with urllib.request.urlopen(request) as answer:
        said: bytes = answer.read()
    return said


def events(said: bytes) -> Iterator[Json]:
    """The events of a stream."""
    for line in said.decode().splitlines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield json.loads(data)


class Agent:
    """One agent: its endpoint and its wire. `history` holds entries of that wire."""

    def __init__(self, tools: list[Json]) -> None:
        self.tools = tools
        self.history: list[Json] = []

    def ask(self) -> Reply:
        """Ask the model for its next words."""
        raise NotImplementedError

    def user(self, text: str) -> None:
        """What the user says."""
        self.history.append({"role": "user", "content": text})

    def results(self, told: list[tuple[Call, str]]) -> None:
        """What the calls gave."""
        raise NotImplementedError

    def begin(self) -> list[Json]:
        """The first events."""
        return []

    def says(self, reply: Reply) -> list[Json]:
        """The events of a reply."""
        raise NotImplementedError

    def ends(self, text: str) -> list[Json]:
        """The last events."""
        return []


class Claude(Agent):
    """Claude Code, over /v1/messages."""

    def ask(self) -> Reply:
        tools = [{"name": t["name"], "description": "", "input_schema": t["parameters"]} for t in self.tools]
        body = {"model": after("--model"), "max_tokens": 1000, "stream": True, "tools": tools}
        body |= {"system": Path(after("--append-system-prompt-file")).read_text(), "messages": self.history}
        key = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
        said = post(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages?beta=true", body, key)
        blocks: list[Json] = []
        for event in events(said):
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"], "json": ""})
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                blocks[-1]["text"] = blocks[-1].get("text", "") + delta.get("text", "")
                blocks[-1]["json"] += delta.get("partial_json", "")
        calls = [
            Call(b["id"], b["name"], json.loads(b["json"] or "{}")) for b in blocks if b["type"] == "tool_use"
        ]
        text = "".join(b["text"] for b in blocks if b["type"] == "text")
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
        self.history.append({"role": "assistant", "content": content})
        return Reply(text, calls)

    def results(self, told: list[tuple[Call, str]]) -> None:
        content = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in told]
        self.history.append({"role": "user", "content": content})

    def begin(self) -> list[Json]:
        return [{"type": "system", "subtype": "init", "session_id": "c-1", "tools": []}]

    def says(self, reply: Reply) -> list[Json]:
        message = {"id": uuid.uuid4().hex, "role": "assistant", "content": self.history[-1]["content"]}
        return [{"type": "assistant", "message": message, "session_id": "c-1"}]

    def ends(self, text: str) -> list[Json]:
        return [
            {"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": "c-1"}
        ]


class Codex(Agent):
    """Codex, over /v1/responses."""

    def __init__(self, tools: list[Json]) -> None:
        super().__init__(tools)
        self.config = tomllib.loads(Path(os.environ["CODEX_HOME"], "config.toml").read_text())

    def ask(self) -> Reply:
        tools = [{"type": "function", "strict": False, "description": "", **tool} for tool in self.tools]
        body = {
            "model": self.config["model"],
            "stream": True,
            "store": False,
            "tools": tools,
            "input": self.history,
        }
        body |= {"instructions": self.config["developer_instructions"], "tool_choice": "auto"}
        address = f"{self.config['model_providers']['overlord']['base_url']}/responses"
        said = post(address, body, {"authorization": "Bearer none"})
        items = [event["item"] for event in events(said) if event["type"] == "response.output_item.done"]
        self.history += items
        calls = [
            Call(i["call_id"], i["name"], json.loads(i["arguments"]))
            for i in items
            if i["type"] == "function_call"
        ]
        return Reply(
            "".join(part["text"] for i in items if i["type"] == "message" for part in i["content"]), calls
        )

    def user(self, text: str) -> None:
        self.history.append(
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        )

    def results(self, told: list[tuple[Call, str]]) -> None:
        self.history += [
            {"type": "function_call_output", "call_id": call.id, "output": text} for call, text in told
        ]

    def begin(self) -> list[Json]:
        return [{"type": "thread.started", "thread_id": "c-1"}, {"type": "turn.started"}]

    def says(self, reply: Reply) -> list[Json]:
        words = {"type": "agent_message", "text": reply.text}
        told = [{"type": "item.completed", "item": words}] if reply.text else []
        items = [{"type": "command_execution", "command": json.dumps(call.arguments)} for call in reply.calls]
        return [*told, *({"type": "item.started", "item": item} for item in items)]

    def ends(self, text: str) -> list[Json]:
        return [{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}]


class Chat(Agent):
    """What speaks /v1/chat/completions."""

    address, model, system = "", "", ""

    def ask(self) -> Reply:
        tools = [{"type": "function", "function": tool} for tool in self.tools]
        body: Json = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
        body |= {"tools": tools} if tools else {}
        body["messages"] = [{"role": "system", "content": self.system}, *self.history]
        said = post(f"{self.address}/chat/completions", body, {"authorization": "Bearer none"})
        text = ""
        found: dict[int, Json] = {}
        for event in events(said):
            for choice in event["choices"]:
                text += choice["delta"].get("content") or ""
                for piece in choice["delta"].get("tool_calls") or ():
                    known = found.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                    known["id"] += piece.get("id") or ""
                    known["name"] += piece["function"].get("name") or ""
                    known["arguments"] += piece["function"].get("arguments") or ""
        calls = [
            {"id": f["id"], "type": "function", "function": {"name": f["name"], "arguments": f["arguments"]}}
            for f in found.values()
        ]
        self.history.append(
            {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        )
        return Reply(text, [Call(f["id"], f["name"], json.loads(f["arguments"])) for f in found.values()])

    def results(self, told: list[tuple[Call, str]]) -> None:
        self.history += [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in told]


class OpenCode(Chat):
    """OpenCode."""

    def __init__(self, tools: list[Json]) -> None:
        super().__init__(tools)
        folder = Path.home() / ".config" / "opencode"
        config = json.loads((folder / "opencode.json").read_text())
        self.address = config["provider"]["overlord"]["options"]["baseURL"]
        self.model = after("--model").partition("/")[2]
        self.system = (folder / "AGENTS.md").read_text()

    def says(self, reply: Reply) -> list[Json]:
        told: list[Json] = [{"type": "step_start", "sessionID": "c-1", "part": {}}]
        told += [{"type": "text", "sessionID": "c-1", "part": {"text": reply.text}}] if reply.text else []
        for call in reply.calls:
            part = {"tool": call.name, "state": {"status": "completed", "input": call.arguments}}
            told.append({"type": "tool_use", "sessionID": "c-1", "part": part})
        return told


class Aider(Chat):
    """Aider: its model has no tools, and writes what is to be replaced; its output is text."""

    def __init__(self, tools: list[Json]) -> None:
        super().__init__([])
        self.address, self.model = option("openai-api-base"), option("model").removeprefix("openai/")
        self.system = Path(option("read")).read_text()

    def begin(self) -> list[Json]:
        print("Aider v0.86.2")
        return []

    def says(self, reply: Reply) -> list[Json]:
        print(f"{reply.text}\nTokens: 1k sent, 1 received.")
        pattern = r"^(\S+)\n```\n<<<<<<< SEARCH\n(.*?)=======\n(.*?)>>>>>>> REPLACE\n```"
        for path, old, new in re.findall(pattern, reply.text, re.DOTALL | re.MULTILINE):
            place = Path(path)
            place.write_text(place.read_text().replace(old, new))
            print(f"Applied edit to {path}")
        return []


class Gemini(Agent):
    """Gemini CLI, over …:streamGenerateContent."""

    def ask(self) -> Reply:
        declared = [
            {"name": t["name"], "description": "", "parametersJsonSchema": t["parameters"]}
            for t in self.tools
        ]
        system = (Path.home() / ".gemini" / "GEMINI.md").read_text()
        body = {"systemInstruction": {"role": "user", "parts": [{"text": system}]}, "contents": self.history}
        body |= {"tools": [{"functionDeclarations": declared}], "generationConfig": {"temperature": 1}}
        base, model = os.environ["GOOGLE_GEMINI_BASE_URL"], os.environ["GEMINI_MODEL"]
        address = f"{base}/v1beta/models/{model}:streamGenerateContent?alt=sse"
        said = post(address, body, {"x-goog-api-key": os.environ["GEMINI_API_KEY"]})
        candidates = [candidate for event in events(said) for candidate in event.get("candidates", ())]
        parts = [part for one in candidates for part in one.get("content", {}).get("parts", ())]
        parts = [part for part in parts if "functionCall" in part or part.get("text")]
        self.history.append({"role": "model", "parts": parts})
        found = [part["functionCall"] for part in parts if "functionCall" in part]
        calls = [Call(one.get("id", ""), one["name"], one.get("args", {})) for one in found]
        return Reply("".join(part.get("text", "") for part in parts), calls)

    def user(self, text: str) -> None:
        self.history.append({"role": "user", "parts": [{"text": text}]})

    def results(self, told: list[tuple[Call, str]]) -> None:
        parts = [
            {"functionResponse": {"id": call.id, "name": call.name, "response": {"output": text}}}
            for call, text in told
        ]
        self.history.append({"role": "user", "parts": parts})

    def begin(self) -> list[Json]:
        return [{"type": "init", "session_id": "c-1", "model": "m"}]

    def says(self, reply: Reply) -> list[Json]:
        middle = len(reply.text) // 2
        pieces = [piece for piece in (reply.text[:middle], reply.text[middle:]) if piece]
        told: list[Json] = [
            {"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in pieces
        ]
        for call in reply.calls:
            told.append(
                {"type": "tool_use", "tool_name": call.name, "tool_id": call.id, "parameters": call.arguments}
            )
            told.append({"type": "tool_result", "tool_id": call.id, "status": "success", "output": ""})
        return told

    def ends(self, text: str) -> list[Json]:
        return [{"type": "result", "status": "success"}]


AGENTS: dict[str, type[Agent]] = {
    "claude-code": Claude,
    "codex": Codex,
    "opencode": OpenCode,
    "aider": Aider,
    "gemini": Gemini,
}


def after(name: str) -> str:
    """What follows an option."""
    return sys.argv[sys.argv.index(name) + 1]


def option(name: str) -> str:
    """The value of `--name=value`."""
    return next(item for item in sys.argv if item.startswith(f"--{name}=")).partition("=")[2]


def session_server(name: str) -> tuple[str, dict[str, str]]:
    """Where the session's own tools are, by the agent's own configuration; empty for an agent that has none."""
    if name == "claude-code":
        server = json.loads(Path(after("--mcp-config")).read_text())["mcpServers"]["overlord"]
    elif name == "codex":
        server = tomllib.loads(Path(os.environ["CODEX_HOME"], "config.toml").read_text())["mcp_servers"][
            "overlord"
        ]
        server["headers"] = server["http_headers"]
    elif name == "opencode":
        server = json.loads((Path.home() / ".config/opencode/opencode.json").read_text())["mcp"]["overlord"]
    elif name == "gemini":
        server = json.loads((Path.home() / ".gemini/settings.json").read_text())["mcpServers"]["overlord"]
        server["url"] = server["httpUrl"]
    else:
        return "", {}
    return server["url"], server["headers"]


def mcp(server: tuple[str, dict[str, str]], method: str, **params: Any) -> Json:
    """A call of the session's own tools."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    said = post(server[0], body, server[1])
    answer = json.loads(said)
    assert "error" not in answer, answer
    result: Json = answer["result"]
    return result


def do(call: Call, server: tuple[str, dict[str, str]]) -> str:
    """What a call gives. It asks no permissions of anybody."""
    if call.name == "shell":
        words = ["sh", "-c", call.arguments["command"]]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode(errors="replace")
    result = mcp(server, "tools/call", name=call.name.removeprefix("overlord_"), arguments=call.arguments)
    return "".join(part["text"] for part in result["content"])


def main() -> None:
    """One prompt, to its end."""
    name = sys.argv[1]
    prompt = sys.stdin.read() if name != "aider" else Path(option("message-file")).read_text()
    server = session_server(name)
    tools: list[Json] = [{"name": "shell", "parameters": SHELL}]
    if server[0]:
        listed = mcp(server, "tools/list")["tools"]
        tools += [{"name": f"overlord_{tool['name']}", "parameters": tool["inputSchema"]} for tool in listed]
    agent = AGENTS[name](tools)
    if {"resume", "--resume", "--session", "--restore-chat-history"} & set(sys.argv):
        agent.history = json.loads(KEPT.read_text())
    agent.user(prompt)
    put(agent.begin())
    while True:
        reply = agent.ask()
        put(agent.says(reply))
        if not reply.calls:
            break
        agent.results([(call, do(call, server)) for call in reply.calls])
    KEPT.write_text(json.dumps(agent.history))
    put(agent.ends(reply.text))
    while "--linger" in sys.argv:
        signal.pause()


def put(told: list[Json]) -> None:
    """Say events."""
    for event in told:
        print(json.dumps(event))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
