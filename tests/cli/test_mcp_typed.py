"""`overlord mcp install|uninstall`, as it is typed: shown first, asked for, written where the agent looks."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Overlord


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout one stands in a directory of, and a home of one's own."""
    place = tmp_path / "calc"
    (place / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    monkeypatch.chdir(place / "src")
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return place


def test_it_is_shown_and_without_a_terminal_written_only_when_told(
    overlord: Overlord, checkout: Path
) -> None:
    said = overlord("mcp", "install", "claude")
    assert said.code == 5 and "add --yes" in said.err
    assert f"{checkout}/.mcp.json (new)" in said.out and '+    "overlord": {' in said.out
    assert not (checkout / ".mcp.json").exists()
    assert overlord("mcp", "install", "claude", "--yes").code == 0
    written = json.loads((checkout / ".mcp.json").read_text())["mcpServers"]["overlord"]
    assert (written["command"], written["args"]) == ("overlord", ["mcp"])
    assert "stays as it is" in overlord("mcp", "install", "claude").out
    assert overlord("mcp", "uninstall", "claude", "--yes").code == 0
    assert "overlord" not in (checkout / ".mcp.json").read_text()
    assert "nothing was changed" in overlord("mcp", "uninstall", "claude").out


def test_printing_writes_nothing(overlord: Overlord, checkout: Path) -> None:
    said = overlord("mcp", "install", "cursor", "--url", "https://overlord.example.org", "--print")
    [server] = json.loads(said.out)["mcpServers"].values()
    assert server["url"] == "https://overlord.example.org/mcp"
    assert list(checkout.glob(".cursor")) == []


def test_codex_is_configured_for_the_person_and_told_which_variable_is_read(
    overlord: Overlord, checkout: Path, tmp_path: Path
) -> None:
    said = overlord("mcp", "install", "codex", "--url", "https://overlord.example.org/", "--yes")
    assert "export it where Codex is started" in said.out and "OVERLORD_TOKEN" in said.out
    text = (tmp_path / "me" / ".codex" / "config.toml").read_text()
    assert 'url = "https://overlord.example.org/mcp"' in text and checkout.name not in text


def test_a_persons_own_file_may_be_a_link(overlord: Overlord, checkout: Path, tmp_path: Path) -> None:
    del checkout
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_text('model = "mine"\n')
    folder = tmp_path / "me" / ".codex"
    folder.mkdir(parents=True)
    (folder / "config.toml").symlink_to(dotfiles)
    assert overlord("mcp", "install", "codex", "--yes").code == 0
    assert (folder / "config.toml").is_symlink()
    assert dotfiles.read_text().startswith('model = "mine"\n\n[mcp_servers.overlord]\n')


def test_bad_input_is_said_and_nothing_written(
    overlord: Overlord, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert overlord("mcp", "install", "emacs").code == 2
    for url in (
        "overlord.example.org",
        "ftp://x",
        "https://a:b@x",
        "https://x/?token=1",
        "http://[",
        "https:// x",
    ):
        assert overlord("mcp", "install", "claude", "--url", url, "--yes").code == 2
    (checkout / ".mcp.json").write_text("{broken")
    said = overlord("mcp", "install", "claude", "--yes")
    assert said.code == 5 and "cannot be read as JSON: line 1" in said.err
    assert (checkout / ".mcp.json").read_text() == "{broken"
    monkeypatch.chdir(tmp_path)
    said = overlord("mcp", "install", "claude", "--yes")
    assert said.code == 5 and "is in no git checkout" in said.err
