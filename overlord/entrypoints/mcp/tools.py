"""Every tool of the MCP server, in the order they are listed."""

from overlord.entrypoints.mcp.calls import call_tools, discipline_tools
from overlord.entrypoints.mcp.code_tools import code_tools
from overlord.entrypoints.mcp.tool import Tool

TOOLS: tuple[Tool, ...] = (*discipline_tools(), *code_tools(), *call_tools())
