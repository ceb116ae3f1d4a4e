"""Whom we call: each file translates one far end to its port in `ports.py` and does nothing else."""
