"""What sessions of the portfolio say to Overlord: plans, tasks, knowledge, escalations."""
