"""What a test needs of its machine: without it the test is skipped, and failed where OVERLORD_REQUIRE names it."""

import os
from typing import NoReturn

import pytest


def missing(what: str, why: str) -> NoReturn:
    """Leave this test out because the machine has no `what`; where that is required, nothing is left out."""
    if what in os.environ.get("OVERLORD_REQUIRE", "").split(","):
        pytest.fail(why)
    pytest.skip(why)
