"""The defences that are taken out, one module for each part of Overlord; `tests/faults/test_mutants.py` does it."""
