"""The operator's pages in a real browser: how they look, and what their keys do."""
