"""Overlord's place in the configuration of other agents: which file, which entry, and that entry written into it without touching the rest."""
