"""`overlord doctor`: what it looks at on this machine and at its external services."""
