"""Contracts: who works, under which rules."""
