"""`overlord demo`, and clearing up after it."""
