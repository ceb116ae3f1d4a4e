"""The portfolio: initiatives with their tasks, what is escalated, and what a cycle decides, all of it pure."""
