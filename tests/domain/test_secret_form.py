"""Secrets that Overlord was given are found however they are written, and ordinary text is not taken for them."""

import base64
import random
import string
import textwrap
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.text.redaction import Redactor
from overlord.domain.text.secret_form import SecretSearch

TOKEN = "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))
KEY_LINES = [base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(12)]
KEY = "\n".join([f"-----BEGIN {'OPENSSH'} PRIVATE KEY-----", *KEY_LINES, "-----END OPENSSH PRIVATE KEY-----"])
Values = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60)
Around = st.binary(max_size=7)


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 20))


WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "backwards": lambda value: value[::-1],
    "hexadecimal": lambda value: value.encode().hex(),
    "HEXADECIMAL": lambda value: value.encode().hex().upper(),
    "hex bytes": lambda value: value.encode().hex(" "),
    "hex escapes": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()),
    "a list of bytes": lambda value: ", ".join(f"0x{byte:02X}" for byte in value.encode()),
    "unicode escapes": lambda value: "".join(f"\\u{ord(character):04x}" for character in value),
    "percent": lambda value: quote(value, safe=""),
    "all percent": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "UTF-16": lambda value: value.encode("utf-16-le").decode("latin-1"),
    "wrapped": wrapped,
    "wrapped base64": lambda value: wrapped(base64.b64encode(value.encode()).decode()),
    "wrapped base64 in JSON": lambda value: wrapped(base64.b64encode(value.encode()).decode()).replace(
        "\n", "\\n"
    ),
    "pieces": lambda value: f'"{value[:9]}" + "{value[9:]}"',
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [TOKEN, KEY], ids=["token", "key"])
def test_a_secret_is_found_in_each_way_to_write_it(value: str, way: str) -> None:
    assert SecretSearch([value]).written_in(f"x = <{WAYS[way](value)}>\n")


@given(value=Values, before=Around, after=Around, url_safe=st.booleans())
def test_base64_is_known_whatever_stands_before_and_after(
    value: str, before: bytes, after: bytes, *, url_safe: bool
) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    text = encode(before + value.encode() + after).decode()
    redacted = Redactor([value]).redact(f"it is {text}")
    assert text not in redacted
    if len(set(value) - set("\"'`,;:\\+()")) >= 8:
        assert SecretSearch([value]).written_in(f"it is {text}")


@given(value=Values, way=st.sampled_from(["backwards", "hexadecimal", "HEXADECIMAL", "percent"]))
def test_what_is_kept_and_shown_holds_a_secret_in_no_other_way_either(value: str, way: str) -> None:
    written = WAYS[way](value)
    assert written not in Redactor([value]).redact(f"<{written}>")


@given(short=st.text(string.ascii_lowercase, min_size=1, max_size=7), text=st.text(max_size=200))
def test_a_short_secret_is_found_nowhere(short: str, text: str) -> None:
    assert not SecretSearch([short]).written_in(f"{text}{short}{text}")


@pytest.mark.parametrize("value", [TOKEN, KEY], ids=["token", "key"])
def test_a_line_of_a_key_and_nothing_of_what_is_not_secret_is_found(value: str) -> None:
    search = SecretSearch([value, "main", "", "  "])
    assert bool(search.written_in(KEY_LINES[5])) is (value == KEY)
    assert not search.written_in(f"-----BEGIN {'OPENSSH'} PRIVATE KEY-----\n" + KEY_LINES[5][:20])
    assert not search.written_in(f"the main branch, {TOKEN[:12]} and 100% of {'ab' * 500}")
