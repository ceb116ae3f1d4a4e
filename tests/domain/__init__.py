"""What things are: pure, so tested by value."""
