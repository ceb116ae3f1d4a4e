"""What may be spent, and what a request costs."""
