"""Overlord: labelled GitHub issues in, evaluated pull requests out."""
