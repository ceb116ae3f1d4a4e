"""A short soak: what a long one must keep flat is flat here too."""

import os
import subprocess
import sys

import pytest

from tests.architecture.test_imports import ROOT
from tests.faults.soak import POLL_S, soak

pytestmark = pytest.mark.timeout(1200)
SEED = int(os.environ.get("FAULT_SEED", "1"))
SIX_HOURS = 6 * 3600 // POLL_S


async def test_forty_jobs_ten_recoveries_and_six_hours_of_idling_leave_nothing_behind() -> None:
    table = await soak(40, SEED, recoveries=10, polls=SIX_HOURS)
    print(f"FAULT_SEED={SEED}", *table, sep="\n")
    assert [str(row) for row in table if not row.is_flat] == []


def test_what_the_fork_server_preloads_can_be_imported() -> None:
    """Multiprocessing passes over a preload that fails, and each daemon then pays for it."""
    ran = subprocess.run(
        [sys.executable, "-c", "import tests.faults.warm"], cwd=ROOT, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
