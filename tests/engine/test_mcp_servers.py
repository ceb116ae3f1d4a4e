"""Which MCP servers a session is offered, by the settings and by what its contract's role may use."""
