"""The schema, one module of tables for each capability, and its numbered steps."""
