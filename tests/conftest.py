"""What all tests share: which of them this run takes (`tests/shares.py`); garbage is collected seldom and what was imported is not
looked at then; no example of a property has a deadline: how fast a machine is decides nothing."""

import gc

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import shares

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the slow tests, and leave out what this run's share does not take."""
    shares.mark_slow(items, config.rootpath)
    left = shares.left_out(items, faults=shares.share_of("FAULT_SHARE"), slow=shares.share_of("SLOW_SHARE"))
    if left:
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which share it was: whoever repeats a failed run needs it."""
    faults, slow = shares.share_of("FAULT_SHARE"), shares.share_of("SLOW_SHARE")
    if not (faults.is_all and slow.is_all):
        terminalreporter.write_line(f"FAULT_SHARE={faults} SLOW_SHARE={slow}")
