"""Secrets are found by their shape, and never shown."""

import random
import string

import pytest

from overlord.domain.text.secret_detection import find_secrets, redacted

ALPHABET = string.ascii_letters + string.digits


def noise(length: int, alphabet: str = ALPHABET) -> str:
    """The same every time, and no literal that a scanner of this repository would find."""
    return "".join(random.Random(length).choices(alphabet, k=length))


SECRETS = {
    "private key": f"-----BEGIN {'OPENSSH'} PRIVATE KEY-----",
    "GitHub token": f"ghp_{noise(36)}",
    "GitLab token": f"glpat-{noise(20)}",
    "Overlord token": f"ovl_{noise(43)}",
    "Slack token": f"xoxb-{noise(12, string.digits)}-{noise(24)}",
    "Slack webhook": f"hooks.slack.com/services/T{noise(8)}/B{noise(8)}/{noise(24)}",
    "AWS key": f"AKIA{noise(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}",
    "Google key": f"AIza{noise(35)}",
    "Anthropic key": f"sk-ant-api03-{noise(60)}",
    "OpenAI key": f"sk-proj-{noise(60)}",
    "Stripe key": f"sk_live_{noise(24)}",
    "npm token": f"npm_{noise(36)}",
    "PyPI token": f"pypi-AgEIcHlwaS5vcmc{noise(60)}",
    "Hugging Face token": f"hf_{noise(34)}",
    "SendGrid key": f"SG.{noise(22)}.{noise(43)}",
    "Telegram token": f"{noise(9, string.digits)}:AA{noise(33)}",
    "JSON web token": f"eyJ{noise(20)}.eyJ{noise(40)}.{noise(43)}",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_known_shapes_are_certain_and_redacted(kind: str) -> None:
    value = SECRETS[kind]
    line = f'connect("{value}")  # as agreed'
    [found] = find_secrets(line)
    assert (found.kind, found.certain) == (kind, True)
    assert value in found.value or found.value in value
    assert found.value not in redacted(line)
    assert redacted(line).startswith('connect("') and redacted(line).endswith('")  # as agreed')
    assert f"[{kind}, " in redacted(line)


@pytest.mark.parametrize(
    "line",
    [
        "token = os.environ['GITHUB_TOKEN']",
        f"ghp_{'x' * 36}",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-ant-api03-" + "x" * 40,
        "github_pat_" + "x" * 60,
        "password = 'correct-horse-battery'",
        "secret: ${{ secrets.TOKEN }}",
        "url = 'postgres://user:password@localhost/db'",
        "https://{user}:{password}@host",
        "https://example.com:8080/a@b",
        "-----BEGIN CERTIFICATE-----",
        "sha256:" + noise(64, "0123456789abcdef"),
    ],
)
def test_placeholders_and_words_are_none(line: str) -> None:
    assert list(find_secrets(line)) == []
    assert redacted(line) == line


@pytest.mark.parametrize(
    "line",
    [f"API_KEY = '{noise(32)}'", f'"password": "{noise(20)}"', f"https://ada:{noise(24)}@example.org/x"],
)
def test_what_merely_looks_random_is_a_guess(line: str) -> None:
    [found] = find_secrets(line.replace("example", "host"))
    assert not found.certain
    assert found.value not in redacted(line.replace("example", "host"))


def test_a_token_is_found_once() -> None:
    assert [found.certain for found in find_secrets(f"token = '{SECRETS['GitHub token']}'")] == [True]


def test_endless_lines_are_read_quickly() -> None:
    for bait in (
        "eyJ-",
        "eyJaaaaaaaaaa.",
        "://a:",
        "SG.",
        "password=",
        "sk-ant-",
        "ghp_",
        "AKIA",
        "secret_key:'",
    ):
        list(find_secrets(bait * (400_000 // len(bait))))
