"""The caller's own files: which directory is meant, a copy of them as a commit, and a change written back to them."""
