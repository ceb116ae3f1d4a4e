"""Repositories managed by Overlord, and what people said of them."""
