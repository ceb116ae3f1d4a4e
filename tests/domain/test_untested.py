"""Whether there are tests, told from files; and what people, Minions and cards are told where there are none."""

from datetime import UTC, datetime

import pytest

from minion.tools.search import NOT_WALKED as WALKED_BY_NONE
from overlord.domain.checks import untested
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.checks.untested import UntestedPolicy, has_tests, is_node, not_judged, question, to_read
from overlord.domain.conversation.pull_card import pull_body
from overlord.domain.decision import Verb
from overlord.domain.evaluation import CheckName, CheckScore
from tests.records import a_check, a_story, an_evaluation

AT = datetime(2026, 3, 4, 9, tzinfo=UTC)
POLICY = UntestedPolicy(space="acme/calc", choice=Verb.WITHOUT_TESTS, decided_by="cli:alice", decided_at=AT)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"calc.py": ""}, False),
        ({"README.md": "", "src/app.js": "", "spec/a_spec.rb": ""}, False),
        ({"node_modules/x/test_a.py": "", ".venv/lib/test_a.py": ""}, False),
        ({"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"}, False),
        ({"latest.py": "", "contest.py": "import unittest\n"}, False),
        ({"tests/test_calc.py": ""}, True),
        ({"calc_test.py": ""}, True),
        ({"conftest.py": ""}, True),
        ({"tests.py": "class A(TestCase): ...\n"}, True),
        ({"pytest.ini": "[pytest]\npython_files = check_*.py\n"}, True),
        ({"setup.cfg": "[tool:pytest]\naddopts = --doctest-modules\n"}, True),
    ],
)
def test_tests_are_seen_from_names_and_configuration(files: dict[str, str], found: bool) -> None:
    texts = {name: files[name].encode() for name in to_read(files)}
    assert has_tests(None, files, texts) is found
    named = ChecksFile(tests=CheckCommand(command=("make", "check")))
    assert has_tests(named, files, texts), "a command that is named counts, whatever it finds"
    assert has_tests(ChecksFile(lint=CheckCommand(command=("true",))), files, texts) is found


def test_where_too_many_files_would_have_to_be_read_there_are_tests() -> None:
    many = [f"d{number}/latest.py" for number in range(untested.MOST_READ + 1)]
    assert has_tests(None, many, {})


def test_the_same_directories_are_left_out_as_by_the_checker() -> None:
    assert untested.NOT_WALKED == WALKED_BY_NONE


def test_a_package_json_alone_makes_tests_npm_s() -> None:
    assert is_node(["package.json", "index.js"])
    assert not is_node(["package.json", "app.py"])
    assert untested.patterns(node=True) == ("tests/**", "package.json")
    assert "npm test" in untested.request(node=True).answer
    assert "pytest" in untested.request(node=False).answer


def test_the_question_says_what_is_judged_what_is_not_and_what_looks_like_tests() -> None:
    asked = question(["a.rb", "spec/a_spec.rb"], "ruff, for plain errors only; new ones", review=True)
    assert "Judged: scope, integrity, lint (ruff) and a model's review.\n" in asked
    assert "Not judged: whether the code works. No test is run." in asked
    assert "nothing says how to run them: spec/a_spec.rb." in asked
    assert "Judged: scope and integrity." in question(["a.txt"], "nothing", review=False)


def test_what_no_test_judged_is_said_first() -> None:
    check = not_judged(POLICY)
    assert (check.name, check.score) == (CheckName.TESTS, CheckScore.NOT_JUDGED)
    assert check.summary == "not judged: this repository has no tests (accepted by alice on 2026-03-04)"
    body = pull_body(a_story(evaluations=(an_evaluation(a_check(CheckName.SCOPE), check),)))
    first = body.split("\n\n")[1]
    assert first == (
        "⚠️ **No test was run.** Tests are not judged: this repository has no tests (accepted by alice on 2026-03-04)."
    )
    assert "| tests | ⚠️ not judged | not judged: this repository" in body
    assert "No test was run" not in pull_body(a_story(evaluations=(an_evaluation(a_check()),)))
