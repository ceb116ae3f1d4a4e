"""The fault campaign: stories told while something fails, and what must hold after each."""
