"""What the suite says to GitHub and hears from its stand-in, held against GitHub's own description of its API."""
