"""What was spent on models, and what people added to budgets."""
