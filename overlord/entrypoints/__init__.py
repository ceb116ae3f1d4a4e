"""Who calls us: the daemon and the command line. They parse and render; `verbs/commands.py` acts."""
