"""How the role of a session is said in the configuration of single agents."""
