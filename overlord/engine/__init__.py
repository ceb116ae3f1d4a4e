"""A job, step by step. The tick reads the database and takes each open job one step; each step is a pure decision and a thin act."""
