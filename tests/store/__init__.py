"""What we remember, on real SQLite files."""
