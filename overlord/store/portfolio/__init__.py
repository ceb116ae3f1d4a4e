"""The rows of the portfolio: initiatives, tasks, escalations, cycles."""
