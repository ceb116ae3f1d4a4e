"""Sessions as processes of this machine."""
