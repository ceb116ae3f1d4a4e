"""`overlord skills`: files that are tried, the registry, drafts."""
