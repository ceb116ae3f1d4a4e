"""Criteria: what a contract can ask to be so before the work goes on. One file each, with its schema and its judge."""
