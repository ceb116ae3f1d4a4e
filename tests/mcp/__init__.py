"""The MCP server, asked by the library's own client over both transports."""
