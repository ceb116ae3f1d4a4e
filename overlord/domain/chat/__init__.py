"""What is shown in the chat, and what is read there."""
