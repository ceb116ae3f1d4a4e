"""Disciplines on a caller's own files: which are meant, the copy of them, and what is written back."""
