"""Sessions: prepared, started, brought to an end, and what they run in."""
