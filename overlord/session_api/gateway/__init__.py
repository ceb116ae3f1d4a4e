"""The model gateway: keys, budgets before a call, metering after it."""
