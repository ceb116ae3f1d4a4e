"""Claims: what a call came to, in one file that somebody else can check without this Overlord."""
