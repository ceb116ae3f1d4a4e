"""What is read of commits."""
