"""The operator's listener: is the daemon well, and has the forge something to say. It decides nothing."""
