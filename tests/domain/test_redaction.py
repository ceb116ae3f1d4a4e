"""Redaction: what Overlord holds, and what looks like a key, is in nothing that is kept; the rest stays as it was."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.text.redaction import MARK, Redactor

SECRET = 'pa$$ "word"/1'
SHAPES = [
    "ghp_" + "a1" * 18,
    "github_pat_" + "A1_" * 20,
    "glpat-" + "x" * 20,
    "ovl_" + "x_-1" * 10 + "abc",
    "sk-" + "x1" * 12,
    "sk-ant-api03-" + "x" * 30,
    "xoxb-1234567890-abcdef",
    "xapp-1-A0-1234567890",
    "hooks.slack.com/services/T000/B000/abcdefghijkl",
    "AKIA" + "ABCDEFGH12345678",
    "AIza" + "x" * 35,
    "GOCSPX-" + "x" * 28,
    "ya29." + "x" * 30,
    "sk_live_" + "x1" * 12,
    "npm_" + "a" * 36,
    "pypi-AgE" + "x" * 50,
    "hf_" + "a" * 34,
    f"eyJ{'a' * 10}.eyJ{'b' * 20}.{'c' * 20}",
]


@pytest.mark.parametrize("form", [SECRET, quote(SECRET, safe=""), json.dumps(SECRET)[1:-1]])
def test_a_secret_is_found_as_it_stands_and_as_it_is_written(form: str) -> None:
    assert Redactor([SECRET]).redact(f"<{form}>") == f"<{MARK}>"


def test_a_secret_is_found_in_base64() -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()
    assert encoded.rstrip("=") not in Redactor([SECRET]).redact(f"value: {encoded}")


def test_each_line_of_a_key_file_is_a_secret() -> None:
    line = "M" * 64
    assert line not in Redactor([f"-----BEGIN X-----\n{line}\n-----END X-----"]).redact(f"a {line} b")


def test_what_is_too_short_to_be_a_secret_takes_nothing_with_it() -> None:
    assert Redactor(["", "  ", "main"]).redact("the main branch") == "the main branch"


@pytest.mark.parametrize("token", SHAPES, ids=[shape[:8] for shape in SHAPES])
def test_tokens_are_known_by_their_shape(token: str) -> None:
    assert Redactor().redact(f'{{"key": "{token}"}}') == f'{{"key": "{MARK}"}}'


def test_keys_headers_and_addresses_with_passwords_are_known() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"
    assert "MIIE" not in Redactor().redact(key)
    assert Redactor().redact("Authorization: Bearer abcdefghijklmnop1") == f"Authorization: Bearer {MARK}"
    assert Redactor().redact("https://me:secret@host/x") == f"https://{MARK}@host/x"


@pytest.mark.parametrize(
    "text",
    [
        "task-management-for-everybody-here",
        "https://example.org/a@b",
        "the sk-learn library",
        "bearer of news",
        "risk-assessment-and-mitigation-plan",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor(["a-secret-value"]).redact(text) == text


@given(st.lists(st.sampled_from([*SHAPES, SECRET, "word", '"', "\\", "\n"])))
def test_json_that_was_valid_stays_valid(words: list[str]) -> None:
    text = Redactor([SECRET]).redact(json.dumps({"said": " ".join(words)}))
    assert SECRET not in json.loads(text)["said"]
