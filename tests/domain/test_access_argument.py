"""What is typed about tokens is read as it was meant, or refused without a word of it."""

import pytest

from overlord.domain.access import AccessRight
from overlord.domain.conversation.argument import CommandError, Typed, read_arguments
from overlord.verbs.declared.create_token import CreateToken

TYPED = Typed(name="create-token", usage="create-token ci act owner/repo 90")


def read(words: str) -> CreateToken:
    return read_arguments(CreateToken, words, TYPED)


@pytest.mark.parametrize(
    ("words", "read_as"),
    [
        ("ci", CreateToken(name="ci")),
        ("ci ACT", CreateToken(name="ci", right=AccessRight.ACT)),
        ("ci 90", CreateToken(name="ci", days=90)),
        ("ci acme/calc", CreateToken(name="ci", spaces=("acme/calc",))),
        (
            "ci admin acme/calc `acme/web` 3660",
            CreateToken(name="ci", right=AccessRight.ADMIN, spaces=("acme/calc", "acme/web"), days=3660),
        ),
    ],
)
def test_a_token_is_read(words: str, read_as: CreateToken) -> None:
    assert read(words) == read_as


@pytest.mark.parametrize(
    "words",
    ["", "CI", "-x", "ci root", "ci act 0", "ci -1", "ci 3661", "ci 1e3", "ci ٣", "ci 9" + "9" * 9000, "ci 90 90"],
)  # fmt: skip
def test_what_is_none_is_refused(words: str) -> None:
    with pytest.raises(CommandError) as refused:
        read(words)
    assert refused.value.examples == (TYPED.usage,)
    assert str(refused.value) in {
        "Say the token's name: 1 to 40 of a-z, 0-9 and dashes.",
        "Say how many days.",
        "That one takes nothing after the days.",
    }
