"""Coding agents of others in whole sessions: the real programs in containers, and stand-ins that speak their wires as processes."""
