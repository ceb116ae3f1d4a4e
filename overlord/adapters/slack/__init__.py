"""The chat as Slack has it."""
