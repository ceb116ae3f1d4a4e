"""Whom we call: each file translates one external service to its port in `ports/` and does nothing else."""
