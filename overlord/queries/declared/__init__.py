"""The queries there are, one module each."""
