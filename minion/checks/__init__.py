"""A check session: the judge's commands, which run is believed, and the report of tests."""
