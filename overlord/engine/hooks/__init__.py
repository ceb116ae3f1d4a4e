"""Operators' programs that observe: told of what is on record, each fact once."""
