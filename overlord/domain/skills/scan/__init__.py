"""What in a skill's text could harm whoever follows it, by rules."""
