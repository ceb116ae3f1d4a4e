"""Where a run's branch goes as a pull request: what a remote's address may be, and what is printed of it."""

import pytest

from overlord.entrypoints.local.build.origin import place_of
from overlord.entrypoints.local.build.pull_request import shown

GITHUB = "https://api.github.com"


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://github.com/acme/calc.git", "https://github.com/acme/calc"),
        ("https://ann:canary@github.com/acme/calc", "https://github.com/acme/calc"),
        ("https://ann:can@ary@github.com/acme/calc", "https://github.com/acme/calc"),
        ("git@github.com:acme/calc.git", "https://github.com/acme/calc"),
        ("ssh://git@github.com/acme/calc.js", "https://github.com/acme/calc.js"),
        ("http://127.0.0.1:8080/acme/calc", "http://127.0.0.1:8080/acme/calc"),
    ],
)
def test_an_address_of_a_forge_is_read_without_who_signs_in(address: str, found: str) -> None:
    place = place_of(address)
    assert place is not None
    assert f"{place.scheme}://{place.host}/{place.name}" == found


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c id",
        "ssh://-oProxyCommand=touch${IFS}x/acme/calc",
        "git@-oProxyCommand=x:acme/calc",
        "/srv/calc.git",
        "file:///srv/calc",
        "https://github.com/acme/calc/more",
        "https://github.com/acme/calc\x1b[2J",
        "https://git\nhub.com/acme/calc",
        "https://github.com/../calc",
        "https://github.com/acme/calc?x#y",
    ],
)
def test_what_is_no_repository_at_a_forge_is_pushed_nowhere(address: str) -> None:
    assert place_of(address) is None


def test_no_password_and_no_sign_of_a_terminal_is_printed() -> None:
    assert shown("https://ann:can@ary@github.com/a/b/c\x1b[2J") == "https://github.com/a/b/c[2J"


@pytest.mark.parametrize(
    ("address", "api_url", "is_at"),
    [
        ("git@github.com:acme/calc", GITHUB, True),
        ("ssh://git@ssh.github.com:443/acme/calc", GITHUB, True),
        ("https://evil.example/acme/calc", GITHUB, False),
        ("https://github.com.evil.example/acme/calc", GITHUB, False),
        ("https://git.acme.org/acme/calc", "https://git.acme.org/api/v3", True),
        ("https://github.com/acme/calc", "https://git.acme.org/api/v3", False),
    ],
)
def test_a_pull_request_is_opened_at_the_forge_that_was_pushed_to_alone(
    address: str, api_url: str, *, is_at: bool
) -> None:
    place = place_of(address)
    assert place is not None and place.is_at(api_url) is is_at
