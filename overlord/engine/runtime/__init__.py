"""What every step is handed, and what a daemon remembers while it runs."""
