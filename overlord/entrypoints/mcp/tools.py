"""Every tool of the MCP server that is no look and no verb, in the order they are listed."""

from overlord.entrypoints.mcp.brain_tools import brain_tools
from overlord.entrypoints.mcp.calls import call_tools, discipline_tools
from overlord.entrypoints.mcp.code_tools import code_tools
from overlord.entrypoints.mcp.tool import Tool

TOOLS: tuple[Tool, ...] = (*discipline_tools(), *brain_tools(), *code_tools(), *call_tools())
