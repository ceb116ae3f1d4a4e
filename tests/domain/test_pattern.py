"""What is one pattern and what is two."""

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.scope.pattern import VERSION, fingerprint, normalised, normalized, of_finding

NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
NUMBERS = st.integers(min_value=0, max_value=10**9)
HASHES = st.from_regex(r"[0-9][a-f][0-9a-f]{5,38}", fullmatch=True)
MESSAGES = (
    "{folder}/{name}.py:{number} calls it {number} times",
    "assert {number} == {number} in '{name}' of issue #{number}",
    "commit {hash} has no file {folder}/{name}.md",
    "{folder}/test_{name}.py::test_{name} fails.",
    'Local variable "{name}" is assigned to but never used in {name}.py',
    "{folder}/{name}.py is outside the scope ({folder}/{name}.ts, {folder}/**).",
)


def told(draw: st.DataObject, message: str) -> str:
    return message.format(
        folder=draw.draw(FOLDERS), name=draw.draw(NAMES), number=draw.draw(NUMBERS), hash=draw.draw(HASHES)
    )


@given(st.sampled_from(MESSAGES), st.data())
def test_the_same_failure_elsewhere_is_the_same_pattern(message: str, data: st.DataObject) -> None:
    one, other = told(data, message), told(data, message)
    assert of_finding("lint", "F841", one) == of_finding("lint", "F841", other), (
        normalised(one),
        normalised(other),
    )


@given(st.sampled_from(MESSAGES), st.data())
def test_another_rule_or_check_is_another_pattern(message: str, data: st.DataObject) -> None:
    said = told(data, message)
    assert len({of_finding("lint", "F841", said), of_finding("lint", "F401", said)}) == 2
    assert len({of_finding("lint", "F841", said), of_finding("tests", "F841", said)}) == 2


def test_other_failures_are_other_patterns() -> None:
    found = {of_finding("lint", "x", message) for message in MESSAGES}
    assert len(found) == len(MESSAGES)


def test_what_kind_of_file_it_is_about_counts() -> None:
    said = [of_finding("scope", "outside-scope", f"{path} is outside") for path in ("a.md", "b.lock", "c/d")]
    assert len(set(said)) == 3


@given(st.text(max_size=300))
def test_whatever_was_written_has_one_pattern_whatever_its_spaces_and_case(text: str) -> None:
    assert normalised(text) == normalised(f"  {text} ")
    assert len(of_finding("review", "x", text)) == 16


def test_no_text_passes_for_a_mark() -> None:
    assert normalised("<n> files") != normalised("12 files")
    assert "\u202e" not in normalised("a \u202eb")


def test_what_people_say_keeps_its_numbers() -> None:
    assert normalized("  Use Python 3.12! ") == normalized("use  python 3.12")
    assert normalized("Use Python 3.12") != normalized("Use Python 3.13")


def test_fingerprints_are_stable() -> None:
    """A change here makes everything count anew: it needs another VERSION, and a reason."""
    assert VERSION == 1
    assert of_finding("lint", "F401", "`os` imported but unused") == "11515829d313015a"
    assert fingerprint("question", "plus or minus") != fingerprint("blocker", "plus or minus")
