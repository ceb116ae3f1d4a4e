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
    Mutant(
        name="what the kernel shows of the environment is overwritten",
        file="overlord/entrypoints/process_environment.py",
        before="ctypes.memset(start, 0, end - start)",
        after="ctypes.memset(start, 0, 0)",
        tests=("tests/cli/test_process_environment.py",),
        says="AssertionError: assert .* == ''",
    ),
    Mutant(
        name="secrets leave the environment of what is started",
        file="overlord/entrypoints/process_environment.py",
        before="_withdrawn[name] = os.environ.pop(name)",
        after="_withdrawn[name] = os.environ[name]",
        tests=("tests/cli/test_process_environment.py",),
        says="AssertionError: assert '0123456789' not in",
    ),
    Mutant(
        name="the memory of the daemon is shown to root alone",
        file="overlord/entrypoints/process_environment.py",
        before="prctl(_SET_DUMPABLE, 0, 0, 0, 0)",
        after="prctl(_SET_DUMPABLE, 1, 0, 0, 0)",
        tests=("tests/cli/test_process_environment.py",),
        says="its memory is shown",
    ),
    Mutant(
        name="every command conceals what it was started with",
        file="overlord/entrypoints/cli/main.py",
        before="        conceal_environment()\n",
        after="        pass\n",
        tests=("tests/cli/test_process_environment.py",),
        says="assert .* == b''",
    ),
    Mutant(
        name="a credential of git's stands in no environment",
        file="overlord/adapters/git_credentials.py",
        before="if key.endswith(_CREDENTIAL)}",
        after="if key.endswith(_CREDENTIAL) and not value}",
        tests=("tests/adapters/test_git_command.py",),
        says="c2VjcmV0",
    ),
)
