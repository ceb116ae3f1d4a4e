"""What things are: pure records and rules. No await, file, clock or randomness in this package."""
