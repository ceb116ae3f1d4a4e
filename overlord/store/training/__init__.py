"""Training data on the disk: files of a session, each with a JSON object a line."""
