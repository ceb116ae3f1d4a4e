"""The Agent Client Protocol, for every agent that speaks it: how one is started, spoken to, and answered."""
