"""How many tests ran, by what the runner prints: for commands that leave no report, whose exit code alone says too little.

Code that ends the test process early (`os._exit(0)` at import) makes every such run look green. Its runner then counts fewer tests than
it did without the change, or none. What is printed can be forged by the code that is tested: this shows less than a report does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from overlord.domain.checks.testruns.red_output import plain
from overlord.domain.text.plain import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What one runner counts. Tests that were skipped did not run."""

    ran: int
    passed: int


_SUMMARIES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"^(?:{form})$", re.MULTILINE)
    for name, form in {
        "pytest": r"(?:=+ )?\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)* in \d[\d.]*s\b.*",
        "unittest": r"Ran \d+ tests? in .*(?:\n+(?:OK|FAILED|PASSED)(?: \(.*\))?)?",
        "node": r"[#ℹ] (?:pass|fail|cancelled) \d+",
        "cargo": r"test result: .*",
        "nextest": r"[ \t]*Summary \[[^\]]*\] .*?\btests? run: (.*)",
        "jest": r"[ \t]*Tests:? +(\d+ (?:failed|passed|skipped|todo)\b.*)",  # vitest too
        "mocha": r"[ \t]+\d+ (?:passing|failing)\b.*",
        "bun": r"[ \t]+\d+ (?:pass|fail)",
        "deno": r"(?:ok|FAILED) \| \d+ passed\b.*",
        "rspec": r"\d+ examples?, .*",
        "minitest": r"\d+ runs, .*",
        "junit": r"OK(?: \(\d+ tests?\b.*\))|(?:\[\w+\] +)?Tests(?: run)?: *\d+, *(?:Failures|Assertions): *\d+(?!.*Time elapsed).*",  # phpunit too
        "dotnet": r"(?:Passed|Failed)! +- Failed: .*",
        "gotestsum": r"DONE \d+ tests?\b.*",
        "ctest": r"\d+% tests passed, .*",
        "prove": r"Files=\d+, Tests=\d+, .*",
    }.items()
}
_PAIR = re.compile(
    r"(?P<before>\d+) +(?P<after>[A-Za-z]+)"
    r"|(?P<word>(?:(?:un)?expected )?[A-Za-z]+)(?: run)?[:=] *(?P<number>\d+)"
    r"|^[#ℹ] (?P<mark>[a-z]+) (?P<value>\d+)"
)
_PASSED = frozenset({"passed", "pass", "passing"})
_FAILED = frozenset({"failed", "fail", "failing", "failures", "failure", "cancelled"})
_ERRORS = frozenset({"errors", "error", "unexpected successes"})
_NOT_RUN = frozenset({"skipped", "skips", "pending", "incomplete", "expected failures"})
_TOTAL = frozenset({"tests", "test", "examples", "example", "runs"})
_NO_FAILURES = "prove"
"""Its summary does not tell how many failed."""
_CTEST = re.compile(r"(\d+) tests? failed out of (\d+)")
_GO_PACKAGE = re.compile(
    r"^(ok  |FAIL)\t\S+\t(?:\d[\d.]*s|\(cached\))(?!.*\[no tests to run\]).*$", re.MULTILINE
)
_GO_TEST = re.compile(r"^[ \t]*(?:=== (RUN)|--- (FAIL|SKIP):) +\S+", re.MULTILINE)
_NAMED = re.compile(
    r"^[ \t]*(?:(?P<tap>ok|not ok) \d+ - (?P<name>.+?)|(?P<mark>[✔✖]) (?P<other>.+?)(?: \([\d.]+ms\))?)"
    r"(?P<directive> # (?i:skip|todo)\b.*)?$",
    re.MULTILINE,
)
_NO_TEST = re.compile(r".*/.*|.*\.[cm]?[jt]sx?|failing tests:")
"""What node names beside tests: a file, which it counts as one where it left before its tests; a heading."""
_NUMBER = re.compile(r"\d+")


def counted(output: str) -> Mapping[str, Counted]:
    """How many tests ran, by the runner that counts them; empty where none does."""
    output = plain(output)
    found = {name: _summed(name, pattern.findall(output)) for name, pattern in _SUMMARIES.items()}
    packages = [match[1] for match in _GO_PACKAGE.finditer(output)]
    found["go packages"] = Counted(ran=len(packages), passed=packages.count("ok  "))
    marks = [match[1] or match[2] for match in _GO_TEST.finditer(output)]
    if "RUN" in marks:
        ran = marks.count("RUN") - marks.count("SKIP")
        found["go"] = Counted(ran=ran, passed=ran - marks.count("FAIL"))
    return {name: counts for name, counts in found.items() if counts.ran > 0}


def why_fewer(before: str, now: str) -> str:
    """What ran before and does not pass in a run that ended with exit code 0, as a sentence by both outputs; empty where nothing is
    missing, and where nothing was counted before."""
    base, head = counted(before), counted(now)
    for runner, was in base.items():
        noun = "package" if runner == "go packages" else "test"
        passed = head[runner].passed if runner in head else 0
        if passed < was.ran:
            said = f"{count(was.ran, noun)} ran before"
            what = f"{passed} passed" if passed else f"not one {noun} is counted as passed"
            return f"{said}, and with this change {what}, though the exit code is 0: a run that ends early shows nothing."
    names, passing = _names(before), _names(now, only_passing=True)
    if missing := sorted(name for key, name in names.items() if key not in passing):
        return f"{missing[0][:200]} ran before and is not named as passed with this change, though the exit code is 0."
    return ""


def why_not_failing(before: str, now: str) -> str:
    """Why no test failed in a run that ended with another exit code than 0, as a sentence by both outputs: words of a failure can be
    printed by anything. Empty where one is counted, and where nothing tells."""
    head = counted(now)
    if not head and (ran := total(before)):
        return f"{ran} ran before, and with this change none is counted as run: what failed was no test."
    if head and _NO_FAILURES not in head and all(one.passed == one.ran for one in head.values()):
        return "The runner counts no failed test: what failed was something else."
    return ""


def total(output: str) -> int:
    """All tests that are counted as run; packages of Go where single tests are not printed."""
    found = counted(output)
    return sum(counts.ran for name, counts in found.items() if not (name == "go packages" and "go" in found))


def _summed(runner: str, lines: list[str]) -> Counted:
    """All summaries of one runner together: a command may start it more than once."""
    each = [_of_ctest(line) if runner == "ctest" else _of_line(line) for line in lines]
    return Counted(ran=sum(one.ran for one in each), passed=sum(one.passed for one in each))


def _of_line(line: str) -> Counted:
    numbers: dict[str, int] = {}
    for pair in _PAIR.finditer(line):
        word = (pair["after"] or pair["word"] or pair["mark"]).lower()
        numbers[word] = int((pair["before"] or pair["number"] or pair["value"])[:9])
    passed, failed, errors, skipped = (
        sum(number for word, number in numbers.items() if word in words)
        for words in (_PASSED, _FAILED, _ERRORS, _NOT_RUN)
    )
    if numbers.keys() & (_PASSED | {"cancelled", "fail"}) or not numbers.keys() & _TOTAL:
        return Counted(ran=passed + failed, passed=passed)
    ran = max(0, next(numbers[word] for word in numbers if word in _TOTAL) - skipped)
    return Counted(ran=ran, passed=max(0, ran - failed - errors))


def _of_ctest(line: str) -> Counted:
    found = _CTEST.search(line)
    ran = int(found[2][:9]) if found else 0
    return Counted(ran=ran, passed=max(0, ran - int(found[1][:9])) if found else 0)


def _names(output: str, *, only_passing: bool = False) -> Mapping[str, str]:
    """The tests that node and other printers of TAP name; numbers in names may differ from run to run."""
    names: dict[str, str] = {}
    for match in _NAMED.finditer(plain(output)):
        name = " ".join((match["name"] or match["other"]).split())
        is_passing = (match["tap"] or match["mark"]) in {"ok", "✔"}
        if match["directive"] or _NO_TEST.fullmatch(name) or (only_passing and not is_passing):
            continue
        names[_NUMBER.sub("#", name)] = name
    return names
