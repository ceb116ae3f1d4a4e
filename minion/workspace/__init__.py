"""The working copy: how a session comes to it, what it may write there, and how it is saved."""
