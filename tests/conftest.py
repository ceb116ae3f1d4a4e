"""What all tests share: what was imported and collected is not looked at by every garbage collection, and no example of a
property has a deadline: how fast a machine is decides nothing."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
