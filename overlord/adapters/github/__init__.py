"""The forge as GitHub has it."""
