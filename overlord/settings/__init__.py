"""The operator's settings: read, checked, and taken anew while the daemon runs."""
