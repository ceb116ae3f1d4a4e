"""The rows of what was learned: notes, rules, and the index in which both are searched."""
