"""The native agent: asks the model, does what it asks for, and ends with a report."""
