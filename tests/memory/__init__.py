"""Small implementations of the ports that keep everything in memory: for tests of one engine step, and held to the ports' suites."""
