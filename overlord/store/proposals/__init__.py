"""What came up again, and what was proposed for it."""
