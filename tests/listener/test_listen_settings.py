"""Where the listener listens: what is no address is refused with the key, and the secret is one of the secrets."""

from pathlib import Path

import pytest

from overlord.errors import SettingsError
from overlord.settings.load import load
from tests.listener.wire import SECRET


def test_there_is_no_listener_unless_it_is_asked_for(tmp_path: Path) -> None:
    settings = load({"OVERLORD_HOME": str(tmp_path)})
    assert (settings.listen.address, settings.listen.webhook_secret.get_secret_value()) == ("", "")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("127.0.0.1:8712", ("127.0.0.1", 8712)),
        ("[::1]:0", ("::1", 0)),
        ("overlord.internal:80", ("overlord.internal", 80)),
    ],
)
def test_an_address_is_host_and_port(tmp_path: Path, address: str, place: tuple[str, int]) -> None:
    settings = load({"OVERLORD_HOME": str(tmp_path), "OVERLORD_LISTEN": address})
    assert settings.listen.place == place


@pytest.mark.parametrize(
    "address", ["8712", ":8712", "127.0.0.1", "127.0.0.1:65536", "http://127.0.0.1:8712", "::1:80", "a b:80"]
)
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError, match=r"OVERLORD_LISTEN: listen\.address"):
        load({"OVERLORD_HOME": str(tmp_path), "OVERLORD_LISTEN": address})


def test_the_secret_is_kept_out_of_what_is_written_down(tmp_path: Path) -> None:
    settings = load({"OVERLORD_HOME": str(tmp_path), "GITHUB_WEBHOOK_SECRET": SECRET})
    assert SECRET in settings.secrets()
    assert SECRET not in repr(settings) and SECRET not in settings.model_dump_json()
