"""What people see in a terminal: values, facts, log lines."""
