"""`.nebulus/checks.yaml` says what it means in few words, or is refused in a sentence."""

from pathlib import Path

import pytest

from minion.checks.toolchain import plan
from minion.protocol import CheckStep
from overlord.domain.checks.file import CheckCommand, ChecksFile, ChecksFileError, parse_checks
from overlord.domain.text.untrusted_yaml import MAX_BYTES


def command_of(text: str) -> CheckCommand:
    checks = parse_checks(text.encode())
    assert checks is not None
    assert checks.tests is not None
    return checks.tests


def test_no_file_is_none_and_an_empty_one_says_nothing() -> None:
    assert parse_checks(None) is None
    assert parse_checks(b"# nothing yet\n") == ChecksFile()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tests: pytest -q tests", ("pytest", "-q", "tests")),
        ("tests: [make, 'test all']", ("make", "test all")),
        ("tests: {command: 'tox -e \"py 311\"'}", ("tox", "-e", "py 311")),
        ("tests: {command: [make, test]}", ("make", "test")),
        ("tests: cd web && npm test", ("sh", "-c", "cd web && npm test")),
        ("tests: CI=1 pytest", ("sh", "-c", "CI=1 pytest")),
        ("tests: |\n  make\n  make test\n", ("sh", "-c", "make\nmake test\n")),
    ],
)
def test_commands_in_every_form(text: str, words: tuple[str, ...]) -> None:
    assert command_of(text).command == words


def test_everything_at_once() -> None:
    checks = parse_checks(b"tests: {command: make test, junit: out/j.xml, timeout_s: 60}\nlint: make lint\n")
    assert checks == ChecksFile(
        tests=CheckCommand(command=("make", "test"), junit="out/j.xml", timeout_s=60),
        lint=CheckCommand(command=("make", "lint")),
    )


def test_a_limit_can_only_be_lowered() -> None:
    assert command_of("tests: {command: make, timeout_s: 60}").limit_s(900) == 60
    assert command_of("tests: {command: make, timeout_s: 6000}").limit_s(900) == 900
    assert command_of("tests: make").limit_s(900) == 900


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("test: pytest", "unknown key 'test'"),
        ("tests: {comand: pytest}", "tests"),
        ("tests: {command: pytest, shell: bash}", "unknown key 'tests.shell'"),
        ("tests: 7", "tests"),
        ("tests: ''", "tests.command"),
        ("tests: []", "tests.command"),
        ("tests: [make, 7]", "tests.command.1"),
        ("tests: {command: 7}", "tests.command"),
        ("tests: 'make \"test'", "tests.command: cannot be read as a command"),
        ("tests: {command: make, timeout_s: 0}", "tests.timeout_s"),
        ("tests: {command: make, timeout_s: '60'}", "tests.timeout_s"),
        ("tests: {command: make, junit: /etc/x}", "tests.junit: must be a path inside"),
        ("tests: {command: make, junit: ../x}", "tests.junit"),
        ("tests: {command: make, junit: .git/x}", "tests.junit"),
        ("- tests", "the document"),
        ("[]", "the document"),
        ("tests: [", "cannot be read as YAML"),
        ("tests: !!python/object:os.system x", "cannot be read as YAML"),
        ("a: &a [x]\ntests: *a", "aliases"),
        ("tests: 2001-99-99", "cannot be read as YAML"),
        ("[" * 60_000, "so deep"),
        ("- " * 30_000 + "x", "so deep"),
        ("\udcff", "cannot be read as YAML"),
        ("#" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ChecksFileError, match=r"checks\.yaml") as refused:
        parse_checks(text.encode(errors="surrogateescape"))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("tests: pytest", True),
        ("tests: python -m pytest -x", True),
        ("tests: python3 -m pytest", True),
        ("tests: python -m unittest", False),
        ("tests: CI=1 pytest", False),
        ("tests: make", False),
    ],
)
def test_judge_and_checker_agree_on_what_pytest_is(text: str, guarded: bool, tmp_path: Path) -> None:
    command = command_of(text)
    assert command.is_pytest is guarded
    assert command.by_exit_code is not guarded
    planned = plan(CheckStep(name="x", command=command.command), tmp_path, tmp_path)
    assert ("guarded_pytest" in repr(planned)) is guarded


def test_a_report_is_something_to_judge_by() -> None:
    assert not command_of("tests: {command: make, junit: j.xml}").by_exit_code
