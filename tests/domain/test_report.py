"""Reports of other languages' runners, as they really wrote them: every test, its outcome, its file where that is told."""

import json

import pytest

from overlord.domain.checks.file import CheckCommand
from overlord.domain.checks.testruns.junit import CaseOutcome
from overlord.domain.checks.testruns.report import REPORT_PATH, parse_report
from overlord.domain.environments.node import node_part
from overlord.domain.environments.source import Sources

PASSED, FAILED, SKIPPED = CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.SKIPPED
NODE = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testcase name="adds" time="0.014031" classname="test" failure="-1 == 3">
		<failure type="testCodeFailure" message="-1 == 3">
Error [ERR_TEST_FAILURE]: -1 == 3
    at Test.run (node:internal/test_runner/test:796:25) {
  cause: AssertionError [ERR_ASSERTION]: -1 == 3
		</failure>
	</testcase>
	<testsuite name="calc" time="0.000633" disabled="0" errors="0" tests="2" failures="0" skipped="1" hostname="vm">
		<testcase name="doubles" time="0.000165" classname="test"/>
		<testcase name="later" time="0.000126" classname="test">
			<skipped type="skipped" message="true"/>
		</testcase>
	</testsuite>
	<!-- tests 3 -->
</testsuites>
"""
VITEST = """\
<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="3" failures="1" errors="0" time="0.013513325">
    <testsuite name="vt/calc.test.js" timestamp="2026-11-25T23:20:10.866Z" hostname="vm" tests="3" failures="1" errors="0" skipped="1" time="0.01">
        <testcase classname="vt/calc.test.js" name="adds" time="0.012371392">
            <failure message="expected -1 to be 3 // Object.is equality" type="AssertionError">
AssertionError: expected -1 to be 3 // Object.is equality
            </failure>
        </testcase>
        <testcase classname="vt/calc.test.js" name="calc &gt; doubles" time="0.000226799">
        </testcase>
        <testcase classname="vt/calc.test.js" name="calc &gt; later" time="0">
            <skipped/>
        </testcase>
    </testsuite>
</testsuites>
"""
JEST = json.dumps({
    "numFailedTests": 1,
    "testResults": [
        {
            "name": "/home/minion/step-2/tree/jt/calc.test.js",
            "status": "failed",
            "message": "",
            "assertionResults": [
                {"ancestorTitles": [], "title": "adds", "status": "failed", "failureMessages": ["Error: Expected: 3"]},
                {"ancestorTitles": ["calc"], "title": "doubles", "status": "passed", "failureMessages": []},
                {"ancestorTitles": ["calc"], "title": "later", "status": "pending", "failureMessages": []},
            ],
        },
        {
            "name": "/home/minion/step-2/tree/jt/torn.test.js",
            "status": "failed",
            "message": "SyntaxError: Unexpected token",
            "assertionResults": [],
        },
    ],
})  # fmt: skip
GO = """\
{"Time":"2026-11-25T23:00:00Z","Action":"start","Package":"example.org/calc"}
{"Action":"run","Package":"example.org/calc","Test":"TestAdd"}
{"Action":"output","Package":"example.org/calc","Test":"TestAdd","Output":"    calc_test.go:7: got -1\\n"}
{"Action":"fail","Package":"example.org/calc","Test":"TestAdd","Elapsed":0}
{"Action":"pass","Package":"example.org/calc","Test":"TestDouble/two","Elapsed":0}
{"Action":"pass","Package":"example.org/calc","Test":"TestDouble","Elapsed":0}
{"Action":"skip","Package":"example.org/calc","Test":"TestLater","Elapsed":0}
{"Action":"fail","Package":"example.org/calc","Elapsed":0.01}
# example.org/torn
{"Action":"output","Package":"example.org/torn","Output":"FAIL example.org/torn [build failed]\\n"}
{"Action":"fail","Package":"example.org/torn","Elapsed":0}
"""


def told(text: str) -> dict[str, tuple[CaseOutcome, str]]:
    return {case.id: (case.outcome, case.file) for case in parse_report(text) or ()}


def test_nodes_runner() -> None:
    assert told(NODE) == {"::adds": (FAILED, ""), "calc::doubles": (PASSED, ""), "calc::later": (SKIPPED, "")}


def test_vitest() -> None:
    file = "vt/calc.test.js"
    assert told(VITEST) == {
        f"{file}::adds": (FAILED, file),
        f"{file}::calc > doubles": (PASSED, file),
        f"{file}::calc > later": (SKIPPED, file),
    }


def test_jest() -> None:
    file = "jt/calc.test.js"
    assert told(JEST) == {
        f"{file}::adds": (FAILED, file),
        f"{file}::calc > doubles": (PASSED, file),
        f"{file}::calc > later": (SKIPPED, file),
        "::jt.torn.test.js": (FAILED, "jt/torn.test.js"),
    }


def test_go() -> None:
    cases = {case.id: case for case in parse_report(GO) or ()}
    assert {name: case.outcome for name, case in cases.items()} == {
        "example.org/calc::TestAdd": FAILED,
        "example.org/calc::TestDouble/two": PASSED,
        "example.org/calc::TestDouble": PASSED,
        "example.org/calc::TestLater": SKIPPED,
        "example.org/torn::": FAILED,
    }
    assert "got -1" in cases["example.org/calc::TestAdd"].message
    assert "build failed" in cases["example.org/torn::"].message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"testResults": 1}',
        '{"testResults": [{"name": "x", "assertionResults": [{}]}]}',
        "{" * 100_000,
    ],
)
def test_what_is_in_no_form_is_no_report(text: str) -> None:
    assert not parse_report(text)


@pytest.mark.parametrize(
    ("script", "said", "has_report"),
    [
        ("vitest", "npm test", True),
        ("npx vitest run --coverage", "npm test", True),
        ("jest --ci", "npm test", True),
        ("node --test test/", "node --test test/", True),
        ("tsc && node --test", "npm test", False),
        ("mocha", "npm test", False),
        ("vitest; rm -rf x", "npm test", False),
    ],
)
def test_a_script_that_is_one_call_of_a_known_runner_writes_a_report(
    script: str, said: str, has_report: bool
) -> None:
    files = {"package.json": json.dumps({"scripts": {"test": script}}).encode()}
    part = node_part(Sources(names=frozenset(files), files=files), beside_python=False)
    assert part is not None
    assert part.tests == ("npm", "test")
    if not has_report:
        assert part.reported == ()
        return
    command = CheckCommand(command=part.reported, junit=REPORT_PATH)
    assert (command.words, command.is_own_report, command.by_exit_code) == (said, True, False)
    assert REPORT_PATH in " ".join(part.reported)
