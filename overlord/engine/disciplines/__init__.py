"""Calls of disciplines: from the call to its verified result."""
