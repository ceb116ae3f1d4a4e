"""The wires that agents and models speak: requests checked, replies read and metered, and each translated to chat completions."""
