"""MCP servers of a repository's settings, as the native agent uses them: started or reached, listed, and offered as tools."""
