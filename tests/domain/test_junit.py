"""A report is read as data from hostile code: it parses into tests, or it is no report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.checks.testruns.junit import MAX_DEPTH, Case, CaseOutcome, parse_junit

PASSED, SKIPPED, FAILED = CaseOutcome.PASSED, CaseOutcome.SKIPPED, CaseOutcome.FAILED


def suite(*cases: str) -> str:
    return f'<testsuites><testsuite name="pytest">{"".join(cases)}</testsuite></testsuites>'


def case(name: str, inside: str = "", classname: str = "tests.test_a") -> str:
    return f'<testcase classname="{classname}" name="{name}" file="tests/test_a.py">{inside}</testcase>'


def outcomes(text: str) -> dict[str, CaseOutcome]:
    return {item.id: item.outcome for item in parse_junit(text) or ()}


def test_cases_have_ids_outcomes_and_messages() -> None:
    text = suite(
        case("ok", "<system-out>fine</system-out><properties><property name='skipped'/></properties>"),
        case("bad", '<failure message="assert 1 == 2">Traceback\nE  assert</failure>'),
        case("torn", '<error message="teardown"/>'),
        case("later", '<skipped message="why"/>'),
    )
    assert parse_junit(text) == (
        Case(id="tests.test_a::ok", outcome=PASSED, file="tests/test_a.py"),
        Case(
            id="tests.test_a::bad",
            outcome=FAILED,
            message="assert 1 == 2\nTraceback\nE  assert",
            file="tests/test_a.py",
        ),
        Case(
            id="tests.test_a::torn", outcome=FAILED, message="teardown", file="tests/test_a.py", is_error=True
        ),
        Case(id="tests.test_a::later", outcome=SKIPPED, message="why", file="tests/test_a.py"),
    )


def test_of_doubles_the_worst_holds_in_any_order() -> None:
    bad, skipped, ok = case("x", "<failure/>"), case("x", "<skipped/>"), case("x")
    for cases in ((bad, ok), (ok, bad), (skipped, bad, ok)):
        assert outcomes(suite(*cases)) == {"tests.test_a::x": FAILED}
    assert outcomes(suite(ok, skipped, ok)) == {"tests.test_a::x": SKIPPED}
    assert outcomes(suite(case("x", "<skipped/><error/><skipped/>"))) == {"tests.test_a::x": FAILED}


def test_what_a_suite_says_of_itself_is_not_believed() -> None:
    text = '<testsuite tests="1000" failures="0" errors="0">' + case("x", "<failure/>") + "</testsuite>"
    assert outcomes(text) == {"tests.test_a::x": FAILED}
    assert parse_junit('<testsuite tests="1000"/>') == ()


def test_suites_may_nest_and_names_may_be_missing() -> None:
    assert outcomes("<testsuites><testsuite><testsuite><testcase/></testsuite></testsuite></testsuites>") == {
        "::": PASSED
    }


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "all passed",
        "<html/>",
        "<testsuite>",
        "<testcase name='x'/>",
        "<testsuites><testcase/></testsuites>",
        "<testsuite><testcase><testcase/></testcase></testsuite>",
        "<testsuite/><testsuite/>",
        "<!DOCTYPE testsuite><testsuite/>",
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        "<testsuite>&undefined;</testsuite>",
        "<testsuite>\0</testsuite>",
        "<testsuite>\ud800</testsuite>",
        "<testsuite>" * (MAX_DEPTH + 1) + "</testsuite>" * (MAX_DEPTH + 1),
        "<testsuite>" * 200_000,
    ],
)
def test_what_is_no_report_is_none(text: str | None) -> None:
    assert parse_junit(text) is None


def test_a_declared_encoding_does_not_hide_a_document_type() -> None:
    assert parse_junit('<?xml version="1.0" encoding="utf-16"?><testsuite/>') == ()
    assert parse_junit('<?xml version="1.0" encoding="cp037"?><!DOCTYPE a><testsuite/>') is None


def test_long_messages_keep_their_end() -> None:
    said = "line\n" * 100_000
    [found] = parse_junit(suite(case("x", f"<failure>{said}the end</failure>"))) or ()
    assert found.message.endswith("the end")
    assert len(found.message) <= 2000


def test_too_many_tests_are_no_report() -> None:
    many = suite(*(f"<testcase name='{number}'/>" for number in range(200_001)))
    assert parse_junit(many) is None


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_junit(text)
    parse_junit(f"<testsuite>{text}</testsuite>")


def test_where_an_object_lay_in_memory_is_no_part_of_a_tests_name() -> None:
    first, second = (
        parse_junit(
            f'<testsuite><testcase classname="t" name="test[&lt;lambda&gt; at {place}-1]"/></testsuite>'
        )
        for place in ("0x7f00aa", "0x55D0")
    )
    assert first == second is not None
    assert first is not None and first[0].id == "t::test[<lambda>-1]"
