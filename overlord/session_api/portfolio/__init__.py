"""What sessions of the portfolio say through their tools: plans, tasks, notes, escalations, completions."""
