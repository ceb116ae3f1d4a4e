"""What runs of tests say together, with the change and without it."""
