"""Others' text made safe to read and to show: secrets, hidden characters, YAML, names."""
