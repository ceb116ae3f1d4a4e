"""What was learned: notes and rules, where they come from, and when they count."""
