"""What judges a change: integrity, tests, lint, review."""
