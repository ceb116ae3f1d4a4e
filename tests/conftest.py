"""What all tests share: garbage is collected seldom and what was imported is not looked at then, and no example of a
property has a deadline: how fast a machine is decides nothing."""

import gc

import structlog
from hypothesis import HealthCheck, settings

settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# As the daemon writes them. Unconfigured, an error is drawn as a panel with every variable in it: that takes longer than its story.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)


def pytest_collectstart() -> None:
    gc.disable()  # hardly anything of what is made while modules are imported is garbage


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
