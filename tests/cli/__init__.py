"""The command line, as somebody who types it sees it."""
