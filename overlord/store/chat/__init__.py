"""What stands in the chat, and what was said there."""
