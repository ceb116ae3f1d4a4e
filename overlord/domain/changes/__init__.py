"""A change as Overlord's own diff has it, and what its paths say."""
