"""Sessions as containers of a Docker engine, and the walls around them."""
