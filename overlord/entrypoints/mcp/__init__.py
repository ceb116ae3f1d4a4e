"""MCP for other agents: disciplines, knowledge, histories and Overlord's verbs, on stdio for a checkout and at /mcp of the listener."""
