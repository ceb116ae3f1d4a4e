"""A job that may be left out: `status`, `status 7`, `status job #42`."""

import pytest

from overlord.domain.conversation.argument import CommandError, Typed
from overlord.domain.conversation.contract_argument import JobIfAnyArgument
from overlord.domain.text.reference import IssueRef, JobRef, Target

STATUS = Typed(name="status", usage="status")


@pytest.mark.parametrize(
    ("words", "found", "rest"),
    [
        ("", None, ""),
        ("  ", None, ""),
        ("7", JobRef(number=7), ""),
        ("job 7 please", JobRef(number=7), "please"),
        ("`acme/calc#42`", IssueRef(number=42, space="acme/calc"), ""),
    ],
)
def test_a_job_is_read_and_may_be_left_out(words: str, found: Target | None, rest: str) -> None:
    assert JobIfAnyArgument().read(words, STATUS) == (found, rest)


@pytest.mark.parametrize("words", ["everything", "job", "job please"])
def test_what_is_no_job_is_answered_with_what_to_type(words: str) -> None:
    with pytest.raises(CommandError) as error:
        JobIfAnyArgument().read(words, STATUS)
    assert error.value.examples == ("status 7", "status #42", "status")
