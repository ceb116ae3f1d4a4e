"""Other coding agents in a session: what starts each, what its output says, and how its end becomes a report."""
