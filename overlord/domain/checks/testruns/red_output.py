"""How a run of tests that has to fail ended, told by its output alone: for commands that leave no report of their tests.

Each runner has words of its own for a failed assertion, for code that does not even load, and for a run without tests. What is said in
none of these words is unclear, and never taken for a failed assertion.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell says of a program that it cannot start."""
MOST_CHARS = 200_000
"""Of an output: its end."""
MOST_LINE = 400
"""Characters of a line that are looked at."""


class RedCode(StrEnum):
    """How tests that have to fail ended. Only `assertion` is red."""

    ASSERTION = "assertion"
    IMPORT_ERROR = "import_error"
    """An error before the test's own body: a file that cannot be imported, parsed or built, a fixture that fails, a missing module."""
    ERROR = "error"
    """The test's body ends with an exception that is no failed assertion."""
    NO_TEST_RAN = "no_test_ran"
    WRONG_TEST = "wrong_test"
    """What fails is not of this change, or not in the file that was asked for."""
    PASSED = "passed"
    NOT_RUN = "not_run"
    """It was not run to an end: no time, no toolchain, a signal."""
    UNCLEAR = "unclear"
    """It failed, and nothing tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What an output tells."""

    code: RedCode
    line: str = ""
    """The line that tells it."""


_MAKE_FOUND_NONE = re.compile(r"^make.* Error 12[67]$", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PYTEST = re.compile(r"(?:^|[\s;&|(/])(?:pytest|py\.test)(?![\w.-])")
_PYTEST_ENDED_EARLY = {
    2: "pytest was interrupted, or could not collect the tests",
    3: "pytest had an error of its own",
    4: "pytest was called with words it does not know",
    5: "pytest found no tests",
}
_NOTHING_COLLECTED = re.compile(
    r"^(?:!+ Interrupted: \d+ errors? during collection !+|=+ no tests ran\b.*)$", re.MULTILINE
)
_PYTEST_ASSERTION = (
    r"E +(?:assert\b|AssertionError\b|Failed: DID NOT RAISE).*|FAILED .* - (?:assert\b|AssertionError\b|Failed: DID NOT RAISE).*"
    r"|\S.*:\d+: (?:AssertionError|Failed)\b.*"
)
_PYTEST_IMPORT = r"E +(?:ImportError|ModuleNotFoundError|SyntaxError|IndentationError)\b.*|ERROR \S+\.py\b.*|_+ ERROR .* _+"
_NO_TESTS = (
    r"no tests ran in [\d.]+s",  # pytest -q
    r"=+ (?:no tests ran|\d+ deselected)\b.*",
    r"Ran 0 tests in .*|NO TESTS RAN.*",  # unittest
    r"No tests found, exiting with code \d+.*|.*Your test suite must contain at least one test\..*|.*Error: No tests? found in suite.*",
    r"(?:.*\W)?No test (?:files|suite) found.*|Could not find '.*'",  # vitest, mocha, node --test
    r"npm (?:error|ERR!) Missing script:.*",
    r"go: (?:warning: )?\".*\" matched no packages.*|no packages to test",
    r"0 examples, 0 failures.*|No tests executed!|No examples found\.",  # rspec, phpunit
    r".*No tests (?:were executed|to run)[!.]?.*",  # surefire
)
_IMPORTS = (
    _PYTEST_IMPORT,
    r"ImportError: Failed to import test module: .*|(?:ModuleNotFoundError|ImportError|SyntaxError|IndentationError)\b.*",
    r"(?:FAIL|\#)\s.*\[(?:build|setup) failed\].*|\S+\.go:\d+:\d+: (?:undefined|cannot use|syntax error)\b.*",
    r"error(?:\[E\d+\])?: (?:could not compile|cannot find|unresolved|expected|mismatched|aborting|this file contains).*|error\[E\d+\]: .*",
    r"\s*● Test suite failed to run.*|\s*FAIL\s+\S+\s+\[ \S+ \].*",  # jest, vitest
    r".*\b(?:Cannot find (?:module|package) |Failed to (?:load url|resolve import) |ERR_MODULE_NOT_FOUND).*",
    r".*\bSyntaxError: .*|.*\berror TS\d+: .*|.*does not provide an export named.*",
    r".*(?:COMPILATION ERROR|Compilation failed).*",
    r"An error occurred while loading .*",
)
_ASSERTIONS = (
    _PYTEST_ASSERTION,
    r"AssertionError\b.*",
    r"\s*--- FAIL: .*",
    r"assertion `?.*failed.*|.*panicked at .*assertion .*|note: test did not panic as expected.*",
    r"\s*expect\(.*|\s*(?:→ |× )?AssertionError\b.*|.*\bERR_ASSERTION\b.*|.*\bAssertionError \[.*",  # jest, vitest, node
    r".*\b(?:AssertionFailedError|ComparisonFailure|ExpectationNotMetError|ExpectationFailedException)\b.*",
    r".*\bjava\.lang\.AssertionError\b.*|\s+expected: \S.*|Failed asserting that .*",
)
_ERRORS = (
    r"panic: .*|.*panicked at .*",
    r"\w+(?:\.\w+)*(?:Error|Exception)\b.*|E +\w+(?:\.\w+)*(?:Error|Exception)\b.*",
    r"\s*\w*Error(?: \[\w+\])?: .*|\s*name: '\w*Error'",
    r"ERROR: \w+ \(.*",
)
_FAILING = re.compile(
    r"^(?:\s*--- FAIL: (?P<go>\S+)(?: \([\d.]+s\))?|(?:FAIL|ERROR): (?P<unittest>\w+ \(\S+\))|test (?P<cargo>\S+) \.\.\. FAILED"
    r"|FAILED (?P<pytest>\S+::.+?)(?: - .*)?|\s*not ok \d+ - (?P<tap>.+)|\s*✖ (?P<node>.+?)(?: \([\d.]+ms\))?"
    r"|\s*● (?P<jest>.+ › .+)|\s*(?:FAIL|×)\s+(?P<vitest>\S+ > .+)|\s+\d+\) (?P<mocha>\S.*))$",
    re.MULTILINE,
)


def _lines(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(parts)})$", re.MULTILINE)


NO_TESTS, IMPORT, ASSERTION, ERROR = _lines(_NO_TESTS), _lines(_IMPORTS), _lines(_ASSERTIONS), _lines(_ERRORS)
PYTEST_ASSERTION, PYTEST_IMPORT = _lines((_PYTEST_ASSERTION,)), _lines((_PYTEST_IMPORT,))
_PANIC = re.compile(r"^panic: .*$", re.MULTILINE)
_GO_RAN = re.compile(r"^ok  \t\S+\t(?!.*\[no tests to run\]).*$", re.MULTILINE)
_GO_NONE = re.compile(r"^(?:ok  \t.*\[no tests to run\]|\?   \t.*\[no test files\])$", re.MULTILINE)
_COUNTED = re.compile(r"^(?:running (\d+) tests?|[#ℹ] tests (\d+)|Ran (\d+) tests? in .*)$", re.MULTILINE)
_UNITTEST_SKIPPED = re.compile(r"^Ran (?P<ran>\d+) tests? in .*\n+OK \(skipped=(?P=ran)\)$", re.MULTILINE)
_ALL_SKIPPED = re.compile(r"^(?:=+ )?\d+ (?:skipped|deselected)(?:, \d+ \w+)* in .*$", re.MULTILINE)


def cut_off(exit_code: int, output: str) -> str:
    """What kept a command from running to an end of its own, as a sentence; empty where nothing did."""
    if exit_code == NOT_FOUND:
        return "A program that the command names was not found (exit code 127)."
    if exit_code == NOT_EXECUTABLE:
        return "A program that the command names could not be started (exit code 126)."
    if 128 < exit_code <= 192:
        return f"The command was ended by signal {exit_code - 128} (exit code {exit_code})."
    if exit_code != 0 and _MAKE_FOUND_NONE.search(output):
        return "A program that make was to start was not found."
    return ""


def pytest_ran_nothing(line: str, exit_code: int, output: str) -> str:
    """How pytest ended without having run the tests, as a sentence; empty where it did, and where the command is another."""
    if _PYTEST.search(line) and exit_code in _PYTEST_ENDED_EARLY:
        return f"{_PYTEST_ENDED_EARLY[exit_code]} (exit code {exit_code})."
    if _NOTHING_COLLECTED.search(output):
        return f"pytest ran no tests (exit code {exit_code})."
    return ""


def plain(output: str) -> str:
    """The end of an output without colours, with line ends of one kind, and of each line its beginning."""
    lines = _ANSI.sub("", output[-MOST_CHARS:]).replace("\r\n", "\n").split("\n")
    return "\n".join(line[:MOST_LINE] for line in lines)


def told_by(exit_code: int, output: str, known: str = "") -> Telling:
    """How a run of tests ended, by its exit code and its output. `known` is the output at base: what is said there too tells nothing
    of code that does not load."""
    output = plain(output)
    if why := cut_off(exit_code, output):
        return Telling(code=RedCode.NOT_RUN, line=why)
    if found := _ran_none(output):
        return Telling(code=RedCode.NO_TEST_RAN, line=found)
    if exit_code == 0:
        return Telling(code=RedCode.PASSED)
    if found := _first_new(IMPORT, output, plain(known)):
        return Telling(code=RedCode.IMPORT_ERROR, line=found)
    if found := _search(_PANIC, output):
        return Telling(code=RedCode.ERROR, line=found)
    for code, pattern in ((RedCode.ASSERTION, ASSERTION), (RedCode.ERROR, ERROR)):
        if found := _search(pattern, output):
            return Telling(code=code, line=found)
    return Telling(code=RedCode.UNCLEAR)


def failing_names(output: str) -> frozenset[str]:
    """The tests that an output says failed, by the names its runner gives them."""
    return frozenset(
        " ".join(next(filter(None, match.groups())).split()) for match in _FAILING.finditer(plain(output))
    )


def _ran_none(output: str) -> str:
    """The line that says that no test ran; empty where one did, or where nothing is said of it."""
    if found := _search(_UNITTEST_SKIPPED, output):
        return found
    counts = [int(next(filter(None, match.groups()), "0")) for match in _COUNTED.finditer(output)]
    if any(counts):
        return ""
    if counts and (found := _search(_COUNTED, output)):
        return found
    if not _GO_RAN.search(output) and "FAIL" not in output and (found := _search(_GO_NONE, output)):
        return found
    return _search(NO_TESTS, output) or _search(_ALL_SKIPPED, output)


def _first_new(pattern: re.Pattern[str], output: str, known: str) -> str:
    before = {" ".join(match[0].split()) for match in pattern.finditer(known)}
    found = (" ".join(match[0].split()) for match in pattern.finditer(output))
    return next((line[:300] for line in found if line not in before), "")


def _search(pattern: re.Pattern[str], output: str) -> str:
    found = pattern.search(output)
    return " ".join(found[0].split())[:300] if found else ""
