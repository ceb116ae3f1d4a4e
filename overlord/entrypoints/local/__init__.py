"""`overlord run` and its company: the whole machine around one repository of the user's, on this machine."""
