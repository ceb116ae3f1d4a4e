"""Tests as syntax, and what a change made of them."""
