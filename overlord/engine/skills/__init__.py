"""Skills: offered to sessions, drafted, and judged in anybody's pull requests."""
