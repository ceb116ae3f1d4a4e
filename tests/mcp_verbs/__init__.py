"""Overlord's own verbs, looks, resources and prompts over MCP."""
