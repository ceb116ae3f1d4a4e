"""A GitHub-shaped forge over bare repositories in a directory."""
