"""What a Minion may write, and how that is told from an issue."""
