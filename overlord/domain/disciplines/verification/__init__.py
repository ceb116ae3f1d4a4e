"""Whether a worker's result holds: found by code from what was run, what was changed and what was read, never from its word."""
