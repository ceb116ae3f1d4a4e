"""A setup session: the commands that make a repository's environment, and what sessions use of it."""
