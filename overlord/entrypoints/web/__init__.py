"""The operator's page: what the crew does, what waits for a person, what it costs. It decides nothing: verbs and queries do."""
