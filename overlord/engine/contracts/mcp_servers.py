"""Which MCP servers of a repository's settings a session is offered, and which of their tools."""

from collections.abc import Mapping
from dataclasses import replace

from minion.protocol import McpServer
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.turn import Turn
from overlord.settings.agents import McpSettings


def offered(servers: Mapping[str, McpSettings], works: Turn, asked: Asked | None) -> tuple[McpServer, ...]:
    """All of them; where the contract lists its role's tools, those that it names as `mcp__SERVER` or `mcp__SERVER__TOOL`. A
    consultation reads and answers, and has none."""
    if asked is not None:
        return ()
    named = () if works.contract.keeps_misses else works.role.tools
    every = (server.offered(name) for name, server in servers.items())
    return tuple(found for server in every if (found := _named(server, named)) is not None)


def _named(server: McpServer, named: tuple[str, ...]) -> McpServer | None:
    """The server with the tools that are named; None where none is."""
    whole = f"mcp__{server.name}"
    if not named or whole in named:
        return server
    prefix = f"{whole}__"
    tools = [name.removeprefix(prefix) for name in named if name.startswith(prefix)]
    known = tuple(tool for tool in tools if not server.tools or tool in server.tools)
    return replace(server, tools=known) if known else None
