"""Disciplines that other agents call over MCP: what each is given, what its worker may do, what it answers, and what is found of that."""
