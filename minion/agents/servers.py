"""The MCP servers of a repository's settings, as an agent is told of them."""

from minion.agents.agent import Server
from minion.protocol import MCP_PATH, Brief


def servers_of(brief: Brief, base_url: str) -> tuple[Server, ...]:
    """Each server of the brief: a command is the agent's to start, an address is the session API's on loopback (`base_url`), which
    asks the server itself and adds what it is asked with."""
    return tuple(
        Server(
            name=server.name,
            url="" if server.command else f"{base_url}{MCP_PATH}/{server.name}",
            command=server.command,
            environment=dict(server.environment),
            tools=server.tools,
        )
        for server in brief.mcp
    )
