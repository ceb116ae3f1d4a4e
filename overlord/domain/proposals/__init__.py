"""What Overlord proposes to change, from what came up again."""
