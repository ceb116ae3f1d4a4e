"""What is kept no longer is cleared away."""
