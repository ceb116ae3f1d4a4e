"""Calls of disciplines, and the histories of the sessions they belong to."""
