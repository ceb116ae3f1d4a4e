"""Repositories in Overlord's care, and what people said of them."""
