"""The tools of a session for agents that have others of their own: an MCP server in the Minion's process."""
