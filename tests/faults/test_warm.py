"""The campaign's fork server has ready what it says: multiprocessing passes over a preload that fails, and each daemon then pays for it."""

import subprocess
import sys

from tests.architecture.test_imports import ROOT


def test_what_the_fork_server_preloads_can_be_imported() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import tests.faults.warm"], cwd=ROOT, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
