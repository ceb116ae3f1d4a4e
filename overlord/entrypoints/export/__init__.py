"""A job, taken along: all that was kept of it as a directory that a person can read."""
