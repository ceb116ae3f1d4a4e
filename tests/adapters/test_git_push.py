"""What is a refusal of a push, and what passes by itself: the words are GitHub's, as git prints them."""

import pytest

from overlord.adapters.git.push import refusal_of
from overlord.errors import GitFailed, PushRefused

BRANCH = "minion/issue-1"


def failed(why: str, *said: str, last: str = "error: failed to push some refs") -> GitFailed:
    output = (
        f"To https://x/y.git\n!\tabc:refs/heads/{BRANCH}\t[remote rejected] ({why})\nDone\n" if why else ""
    )
    errors = "".join(f"remote: {line}        \n" for line in said) + f"{last}\n"
    return GitFailed("git push failed", output=output.encode(), errors=errors.encode())


def refused(why: str, *said: str, last: str = "error: failed to push some refs") -> PushRefused:
    refusal = refusal_of(failed(why, *said, last=last), BRANCH)
    assert refusal is not None
    return refusal


@pytest.mark.parametrize(
    ("why", "said", "summary", "advice"),
    [
        (
            "push declined due to repository rule violations",
            ("error: GH013: Repository rule violations found for refs/heads/x.", "", "- Cannot create ref"),
            "GH013: Repository rule violations found for refs/heads/x",
            "Exempt branches below `minion/`",
        ),
        (
            "push declined due to repository rule violations",
            ("error: GH013: Repository rule violations found for refs/heads/x.", "- GITHUB PUSH PROTECTION"),
            "GH013: Repository rule violations found for refs/heads/x",
            "remove it from the change",
        ),
        (
            "protected branch hook declined",
            ("error: GH006: Protected branch update failed for refs/heads/x.",),
            "GH006: Protected branch update failed for refs/heads/x",
            "Exempt branches below `minion/`",
        ),
        (
            "pre-receive hook declined",
            ("no ticket in the message",),
            "pre-receive hook declined",
            "complains",
        ),
        (
            "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` "
            "without `workflows` permission",
            (),
            "refusing to allow a GitHub App to create or update workflow",
            "Workflows: read and write",
        ),
    ],
)
def test_what_a_server_declines_is_a_refusal_with_its_words(
    why: str, said: tuple[str, ...], summary: str, advice: str
) -> None:
    refusal = refused(why, *said)
    assert str(refusal).startswith(f"the forge refused the push to {BRANCH}: {summary}")
    assert refusal.words.splitlines() == [*filter(None, said), f"({why})"]
    assert advice in refusal.advice


def test_a_sign_in_that_may_not_push_is_refused() -> None:
    last = "fatal: unable to access 'https://x/y.git/': The requested URL returned error: 403"
    refusal = refused("", "Permission to acme/calc.git denied to robot.", last=last)
    assert str(refusal).endswith(": Permission to acme/calc.git denied to robot")
    assert "Contents: read and write" in refusal.advice


@pytest.mark.parametrize(
    "why", ["failed to update ref", "cannot lock ref", "Internal Server Error", "unpacker error", "timed out"]
)
def test_a_server_with_trouble_of_its_own_is_asked_again(why: str) -> None:
    assert refusal_of(failed(why, "error: it went wrong"), BRANCH) is None


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ((), "fatal: unable to access 'https://x/': Could not resolve host: x"),
        ((), "fatal: unable to access 'https://x/': The requested URL returned error: 403"),
        (
            ("You have exceeded a secondary rate limit.",),
            "fatal: unable to access 'https://x/': The requested URL returned error: 403",
        ),
        (("Internal Server Error",), "fatal: the remote end hung up unexpectedly"),
    ],
)
def test_a_push_that_nobody_declined_is_no_refusal(said: tuple[str, ...], last: str) -> None:
    assert refusal_of(failed("", *said, last=last), BRANCH) is None


def test_many_and_long_words_are_cut() -> None:
    refusal = refused("pre-receive hook declined", "GH013: " + "x" * 1000, *["line"] * 100)
    assert len(str(refusal)) < 300
    assert len(refusal.words.splitlines()) == 21
