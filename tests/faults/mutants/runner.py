"""Defences of what runs sessions, and of the secrets of the daemon that starts them."""

from tests.faults.mutants.mutant import Mutant

ENCODED = "tests/faults/test_leaks.py::test_a_token_that_a_session_got_at_and_encoded_is_not_pushed_nor_in_a_later_push"

RUNNER = (
    Mutant(
        name="a container that runs for the first time was not started again",
        file="overlord/adapters/docker/notes.py",
        before="return bool(finished) and not finished.startswith(_NEVER)",
        after="return bool(finished)",
        tests=("tests/adapters/test_docker_endings.py",),
        says=r"assert Running\(.* == Running\(",
    ),
    Mutant(
        name="a container that others start again is noticed",
        file="overlord/adapters/docker/notes.py",
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
        file="overlord/adapters/git/credentials.py",
        before="if key.endswith(_CREDENTIAL)}",
        after="if key.endswith(_CREDENTIAL) and not value}",
        tests=("tests/adapters/test_git_command.py",),
        says="c2VjcmV0",
    ),
    Mutant(
        name="secrets of Overlord's own are looked for in what is pushed",
        file="overlord/engine/evaluation/evaluate.py",
        before="known=parts.current.redactor,",
        after="known=None,",
        tests=(ENCODED,),
        says="assert .*pushed_sha|ValueError|AssertionError",
    ),
    Mutant(
        name="a commit with a secret is in no later push",
        file="overlord/engine/sessions/collect.py",
        before="if job.head_sha and not holds.get(job.head_sha):",
        after="if job.head_sha:",
        tests=(ENCODED,),
        says="the history of what was pushed holds it",
    ),
    Mutant(
        name="base64 is known wherever a secret begins in it",
        file="overlord/domain/text/secret_form.py",
        before="for before in range(3):",
        after="for before in range(1):",
        tests=("tests/domain/test_secret_form.py",),
        says="assert .* not in|SecretSearch",
    ),
    Mutant(
        name="binary files are looked through for secrets",
        file="overlord/engine/evaluation/evaluate.py",
        before='search.written_in, content.decode(errors="replace"))',
        after='str, "")',
        tests=(ENCODED,),
        says="the summary, and a finding for each file",
    ),
    Mutant(
        name="sessions are never processes unasked",
        file="overlord/adapters/runner_choice.py",
        before="if not falls_back and not Home(settings.home).processes_agreed.exists():",
        after="if not falls_back and Home(settings.home).processes_agreed.is_dir():",
        tests=("tests/cli/test_runner_agreement.py",),
        says="DID NOT RAISE .*ContainersMissing",
    ),
)
