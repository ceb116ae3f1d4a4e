"""Tools of MCP servers beside the session's own, named `mcp__SERVER__TOOL`.

What a server says of its tools is its own word, told to the model as that, within bounds. A server that does not answer costs the
session a line in its log; a call that fails is an error the model can act on.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minion.errors import McpFailed, SessionApiGone, ToolError
from minion.mcp.client import McpClient, Transport
from minion.mcp.remote import RemoteTransport
from minion.mcp.stdio import StdioTransport
from minion.protocol import McpServer
from minion.session import Session
from minion.tools.tool import Tool

BEGINNING_S = 20.0
"""For a server to start, and again for each page of its list."""
MOST_TOOLS = 64
"""Of one server."""
MOST_LISTED = 2_000
"""Of one server, before those that are not offered are left out."""
MOST_DESCRIPTION_CHARS = 1_500
MOST_SCHEMA_CHARS = 20_000
LONGEST_NAME = 64
"""Of a tool, as models' endpoints take it."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool(Tool):
    """A tool of a server: its schema is the server's, and so is the check of what is sent."""

    given: Mapping[str, Any] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """The tool as chat completions list it."""
        function = {"name": self.name, "description": self.meaning, "parameters": self.given}
        return {"type": "function", "function": function}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they are, under one name: the server may call its own as it likes."""
        return {"arguments": dict(values)}


class ServerTools:
    """The servers of one session, from `open` to `close`."""

    def __init__(self, session: Session, log: Callable[[str], None]) -> None:
        self._session = session
        self._log = log
        self._clients: dict[str, McpClient] = {}

    def open(self) -> dict[str, Tool]:
        """Begin with every server at once, and return the tools of those that answer. Raises Interrupted."""
        servers = self._session.brief.mcp
        if any(server.command for server in servers):
            with self._session.interrupts.waiting():
                self._session.workspace.wait()  # commands start in the working copy
        listed: dict[str, list[Mapping[str, Any]]] = {}
        threads = [
            threading.Thread(target=self._begin, args=(server, listed), name="mcp", daemon=True)
            for server in servers
        ]
        for thread in threads:
            thread.start()
        with self._session.interrupts.waiting():
            for thread in threads:
                thread.join()
        found: dict[str, Tool] = {}
        for server in servers:
            for tool in self._tools(server, listed.get(server.name, [])):
                if tool.name in found:
                    self._log(f"MCP server {server.name}: two of its tools would be called {tool.name}")
                found.setdefault(tool.name, tool)
        return found

    def close(self) -> None:
        """End the servers that run, and let go of the others."""
        for client in self._clients.values():
            client.close()

    def _begin(self, server: McpServer, listed: dict[str, list[Mapping[str, Any]]]) -> None:
        try:
            client = self._clients[server.name] = McpClient(self._transport(server))
            client.begin(timeout_s=BEGINNING_S)
            listed[server.name] = client.tools(MOST_LISTED, timeout_s=BEGINNING_S)
        except (McpFailed, SessionApiGone) as error:
            self._log(f"MCP server {server.name} is not offered: {error}")

    def _transport(self, server: McpServer) -> Transport:
        session = self._session
        if not server.command:
            patience_s = session.session_api.patience_s
            return RemoteTransport(session.session_api.another(patience_s=patience_s), server.name)
        environment = {**session.command_environment, **dict(server.environment)}
        return StdioTransport(server.command, directory=session.workspace.root, environment=environment)

    def _tools(self, server: McpServer, listed: Iterable[Mapping[str, Any]]) -> list[Tool]:
        offered = [
            tool
            for tool in listed
            if isinstance(name := tool.get("name"), str)
            and name
            and (not server.tools or name in server.tools)
        ]
        if len(offered) > MOST_TOOLS:
            self._log(
                f"MCP server {server.name} has {len(offered)} tools: the first {MOST_TOOLS} are offered"
            )
        made = (self._tool(server, tool) for tool in offered[:MOST_TOOLS])
        return [tool for tool in made if tool is not None]

    def _tool(self, server: McpServer, told: Mapping[str, Any]) -> Tool | None:
        name, words, schema = told["name"], told.get("description"), told.get("inputSchema")
        given = schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object"}
        if len(json.dumps(given)) > MOST_SCHEMA_CHARS:
            self._log(
                f"MCP server {server.name}: the schema of {name[:100]} is too large, so it is not offered"
            )
            return None
        described = words[:MOST_DESCRIPTION_CHARS] if isinstance(words, str) else ""
        return ServerTool(
            name=_NOT_IN_A_NAME.sub("_", f"mcp__{server.name}__{name}")[:LONGEST_NAME],
            meaning=f"A tool of the MCP server {server.name}, in its own words: {described}",
            run=lambda session, *, arguments: self._call(session, server.name, name, arguments),
            given=given,
        )

    def _call(self, session: Session, server: str, name: str, arguments: Mapping[str, Any]) -> str:
        try:
            with session.interrupts.waiting():
                limit_s = session.brief.limits.command_s
                result = self._clients[server].call(name, arguments, timeout_s=limit_s)
        except McpFailed as error:
            raise ToolError(f"The MCP server {server} cannot do that: {error}.") from error
        text = text_of(result)
        if result.get("isError") is True:
            raise ToolError(text)
        return text


def text_of(result: Mapping[str, Any]) -> str:
    """What a tool's result says in text; what is no text has a note in its place."""
    content = result.get("content")
    parts = [_part(item) for item in content] if isinstance(content, list) else []
    if not parts and "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return "\n".join(parts) or "(nothing)"


def _part(item: object) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(kind, str):
        return "[something that cannot be read was left out]"
    if isinstance(text := item.get("text"), str):
        return text
    resource = item.get("resource")
    if isinstance(resource, dict) and isinstance(text := resource.get("text"), str):
        return text
    if kind == "resource_link":
        return f"[a link: {str(item.get('uri'))[:500]}]"
    return f"[{kind[:40]} {str(item.get('mimeType') or '')[:80]}".rstrip() + ": left out, only text is shown]"
