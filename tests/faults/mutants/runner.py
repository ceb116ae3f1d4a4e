"""Defences of what runs sessions, and of the secrets of the daemon that starts them."""

from tests.faults.mutants.mutant import Mutant

RUNNER = (
    Mutant(
        name="a container that runs for the first time was not started again",
        file="overlord/adapters/docker_notes.py",
        before="return bool(finished) and not finished.startswith(_NEVER)",
        after="return bool(finished)",
        tests=("tests/adapters/test_docker_endings.py",),
        says=r"assert Running\(.* == Running\(",
    ),
    Mutant(
        name="a container that others start again is noticed",
        file="overlord/adapters/docker_notes.py",
        before="return bool(finished) and not finished.startswith(_NEVER)",
        after="return False and finished",
        tests=("tests/adapters/test_docker_endings.py",),
        says="somebody started its container again",
    ),
)
