"""The chat: what is said there is heard, and what is shown there is kept true."""
