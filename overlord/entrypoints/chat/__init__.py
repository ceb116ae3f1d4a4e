"""The chat calls us: commands, mentions, replies, presses and forms, each written down before it is acknowledged."""
