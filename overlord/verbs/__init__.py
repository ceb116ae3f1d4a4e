"""Every verb a person has that changes something: command line, chat and comments call these."""
