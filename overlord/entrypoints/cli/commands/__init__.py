"""The commands, one module for each group, imported when one is typed."""
