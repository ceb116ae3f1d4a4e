"""What we do not own, one Protocol a file: forge, git, runner, model, chat, clock.

Each has one implementation that speaks the real thing (`adapters/`) and one conformance suite. The engine sees only these. A failure of the
external service is an exception of `errors.py` that says whose fault it was.
"""
