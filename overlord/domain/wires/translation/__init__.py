"""What translating a wire to chat completions and back takes: events cut and parsed, completions read, messages and names written."""
