"""Two ways to sign in at GitHub: each whole, never both, and a key that is one; nothing of a key is ever shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.text.redaction import Redactor
from overlord.errors import SettingsError
from overlord.settings.load import Settings, load
from tests.app_keys import keys, other_forms, write_key

Configured = Callable[..., Settings]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return write_key(tmp_path / "key.pem")


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """Load with this text as the home's overlord.yaml and these variables."""

    def loading(text: str = "", /, **environment: str) -> Settings:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "overlord.yaml").write_text(text)
        return load({"OVERLORD_HOME": str(home), **environment})

    return loading


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(SettingsError) as error:
        act()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_app_signs_in_by_the_environment_or_the_file(configured: Configured, key: Path) -> None:
    by_variables = configured(GITHUB_APP_ID="4711", GITHUB_APP_PRIVATE_KEY_FILE=str(key))
    by_file = configured(f"forge: {{app_id: 4711, private_key_file: {key}}}")
    assert by_variables.forge == by_file.forge
    assert (by_file.forge.app_id, by_file.forge.private_key.get_secret_value()) == ("4711", keys()[0].strip())
    assert by_file.forge.signs_in()
    assert configured(GITHUB_APP_ID="", GITHUB_APP_PRIVATE_KEY_FILE="") == configured()
    assert not configured().forge.signs_in()


def test_the_id_may_come_from_a_file_too(configured: Configured, key: Path, tmp_path: Path) -> None:
    (tmp_path / "id").write_text("4711\n")
    settings = configured(GITHUB_APP_ID_FILE=str(tmp_path / "id"), GITHUB_APP_PRIVATE_KEY_FILE=str(key))
    assert settings.forge.app_id == "4711"


def test_a_key_of_the_newer_envelope_is_one(configured: Configured, tmp_path: Path) -> None:
    file = tmp_path / "new.pem"
    file.write_text(other_forms()["pkcs8"].replace("\n", "\r\n"))
    assert configured(GITHUB_APP_ID="1", GITHUB_APP_PRIVATE_KEY_FILE=str(file)).forge.signs_in()


def test_half_of_a_sign_in_or_two_of_them_are_refused_with_what_to_do(
    configured: Configured, key: Path
) -> None:
    assert "needs both GITHUB_APP_ID" in refused(lambda: configured(GITHUB_APP_ID="1"))
    assert refused(lambda: configured(GITHUB_APP_ID="1")).endswith("the key is missing")
    assert refused(lambda: configured(GITHUB_APP_PRIVATE_KEY_FILE=str(key))).endswith("the id is missing")
    said = refused(
        lambda: configured(
            f"forge: {{app_id: 1, private_key_file: {key}}}", GITHUB_TOKEN="ghp_canary0123456789"
        )
    )
    assert "both a token and a GitHub App" in said
    assert "GITHUB_TOKEN (forge.token)" in said
    assert "canary" not in said


def test_a_token_of_code_stands_in_place_of_an_app(configured: Configured, key: Path, tmp_path: Path) -> None:
    """A run in one's own repository, or the demo: their forge is embedded."""
    given = {"GITHUB_APP_ID": "1", "GITHUB_APP_PRIVATE_KEY_FILE": str(key)}
    settings = load({"OVERLORD_HOME": str(tmp_path / "home"), **given}, forge={"token": "ghp_embedded"})
    assert (settings.forge.app_id, settings.forge.private_key.get_secret_value()) == ("", "")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no private key in PEM form"),
        ("ssh-rsa AAAA", "holds no private key in PEM form"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "holds no private key in PEM form"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nAAA=AA\n-----END RSA PRIVATE KEY-----",
            "cut short or damaged",
        ),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n", "holds no private key in PEM form"),
        ("\u00e9", "holds no private key in PEM form"),
        ("locked", "is protected by a passphrase"),
        ("locked, old", "is protected by a passphrase"),
        ("curve", "is no RSA key"),
        ("curve, old", "is no RSA key"),
    ],
)
def test_a_file_that_holds_no_key_of_an_app_is_refused_without_its_content(
    configured: Configured, tmp_path: Path, content: str, said: str
) -> None:
    file, text = tmp_path / "wrong.pem", other_forms().get(content, content)
    file.write_text(text)
    message = refused(lambda: configured(GITHUB_APP_ID="1", GITHUB_APP_PRIVATE_KEY_FILE=str(file)))
    assert message.startswith("GITHUB_APP_PRIVATE_KEY_FILE: forge.private_key_file: ")
    assert said in message
    assert not [line for line in text.splitlines() if len(line) > 3 and line in message]


def test_a_file_that_cannot_be_read_is_refused(configured: Configured, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    message = refused(lambda: configured(f"forge: {{app_id: 1, private_key_file: {missing}}}"))
    assert f"forge.private_key_file: {missing} cannot be read: No such file or directory" in message
    assert "Is a directory" in refused(
        lambda: configured(f"forge: {{app_id: 1, private_key_file: {tmp_path}}}")
    )


def test_a_key_in_the_settings_themselves_is_refused(configured: Configured) -> None:
    text = f"forge:\n  app_id: 1\n  private_key: {keys()[0]!r}\n"
    message = refused(lambda: configured(text))
    assert "private_key_file" in message
    assert "BEGIN" not in message


def test_a_key_is_a_secret_in_whole_and_line_by_line(configured: Configured, key: Path) -> None:
    settings = configured(GITHUB_APP_ID="1", GITHUB_APP_PRIVATE_KEY_FILE=str(key))
    line: Any = keys()[0].splitlines()[3]
    redactor = Redactor(settings.secrets())
    for text in (keys()[0], line, keys()[0].replace("\n", "\\n")):
        assert line not in redactor.redact(f"before {text} after")
    assert line not in repr(settings)
    assert line not in str(settings.model_dump(mode="json"))
