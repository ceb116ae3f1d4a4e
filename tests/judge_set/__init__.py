"""Right and wrong "fixes" of real projects, and what the judge makes of each: `python -m tests.judge_set` prints the table."""
