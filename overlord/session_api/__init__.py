"""The one way out of a session: a listener of its own with brief, git, model gateway, events and report."""
