"""Each agent's entry, worked out on its file: what is there stays, what is a secret is named and never written."""

import json
import tomllib
from pathlib import Path

import pytest

from overlord.entrypoints.mcp.install import change
from overlord.entrypoints.mcp.install.client import (
    CLIENTS,
    ClientName,
    ClientScope,
    Server,
    inherited,
    own_program,
)
from overlord.errors import Refused
from overlord.settings.env import ENVIRONMENT

STDIO = Server(command=("overlord",), variables={"OVERLORD_HOME": "/srv/ov"}, inherited=("OPENAI_API_KEY",))
HTTP = Server(url="https://overlord.example.org/mcp")
PROJECT, USER = ClientScope.PROJECT, ClientScope.USER


def entry(name: ClientName, server: Server, scope: ClientScope = PROJECT) -> dict[str, object]:
    return CLIENTS[name].entry(server, scope)


def test_a_program_is_started_as_each_agent_has_it() -> None:
    assert entry(ClientName.CLAUDE, STDIO) == {
        "type": "stdio",
        "command": "overlord",
        "args": ["mcp"],
        "env": {"OVERLORD_HOME": "/srv/ov"},
    }
    assert entry(ClientName.CODEX, STDIO)["env_vars"] == ["OPENAI_API_KEY"]
    assert entry(ClientName.OPENCODE, STDIO)["command"] == ["overlord", "mcp"]
    assert entry(ClientName.CURSOR, STDIO)["args"] == ["mcp", "--checkout", "${workspaceFolder}"]
    assert entry(ClientName.CURSOR, STDIO, USER)["args"] == ["mcp"]
    assert entry(ClientName.GEMINI, STDIO)["env"] == {
        "OPENAI_API_KEY": "$OPENAI_API_KEY",
        "OVERLORD_HOME": "/srv/ov",
    }


def test_over_http_the_variable_with_the_secret_is_named_in_each_agents_words() -> None:
    claude, cursor = entry(ClientName.CLAUDE, HTTP), entry(ClientName.CURSOR, HTTP)
    assert claude["headers"] == {"Authorization": "Bearer ${OVERLORD_TOKEN}"}
    assert cursor["headers"] == {"Authorization": "Bearer ${env:OVERLORD_TOKEN}"}
    assert entry(ClientName.OPENCODE, HTTP)["headers"] == {"Authorization": "Bearer {env:OVERLORD_TOKEN}"}
    assert entry(ClientName.OPENCODE, HTTP)["oauth"] is False
    assert entry(ClientName.GEMINI, HTTP)["headers"] == {"Authorization": "Bearer $OVERLORD_TOKEN"}
    assert entry(ClientName.CODEX, HTTP)["bearer_token_env_var"] == "OVERLORD_TOKEN"


@pytest.mark.parametrize("name", ClientName)
def test_no_value_of_a_variable_is_ever_written(name: ClientName, tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": "sk-canary", "GITHUB_TOKEN_FILE": "/run/secret", "HOME": str(tmp_path)}
    server = Server(command=("overlord",), inherited=inherited(environment, tuple(ENVIRONMENT)))
    assert server.inherited == ("GITHUB_TOKEN_FILE", "OPENAI_API_KEY")
    for given in (server, HTTP):
        made = change.install(CLIENTS[name], PROJECT, tmp_path / CLIENTS[name].project, given, root=tmp_path)
        assert "canary" not in made.after and "/run/secret" not in made.after


@pytest.mark.parametrize("name", ClientName)
def test_an_entry_is_written_once_changed_in_place_and_taken_out(name: ClientName, tmp_path: Path) -> None:
    client = CLIENTS[name]
    path = tmp_path / client.project
    change.install(client, PROJECT, path, STDIO, root=tmp_path).carry_out()
    assert not change.install(client, PROJECT, path, STDIO, root=tmp_path).is_needed
    change.install(client, PROJECT, path, HTTP, root=tmp_path).carry_out()
    text = path.read_text()
    value = tomllib.loads(text) if client.is_toml else json.loads(text)
    assert value[client.path[0]] == {"overlord": client.entry(HTTP, PROJECT)}
    change.uninstall(client, PROJECT, path, root=tmp_path).carry_out()
    assert "overlord" not in path.read_text()
    assert not change.uninstall(client, PROJECT, path, root=tmp_path).is_needed
    assert [item.name for item in path.parent.iterdir() if item.is_file()] == [path.name]


def test_what_a_person_added_to_the_entry_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[mcp_servers.overlord]\ncommand = "old"\nenabled_tools = ["review"]\n')
    made = change.install(CLIENTS[ClientName.CODEX], USER, path, HTTP, root=tmp_path)
    table = tomllib.loads(made.after)["mcp_servers"]["overlord"]
    assert table == {**CLIENTS[ClientName.CODEX].entry(HTTP, USER), "enabled_tools": ["review"]}


def test_a_newer_file_of_opencode_has_servers_one_level_lower(tmp_path: Path) -> None:
    path = tmp_path / "opencode.json"
    path.write_text('{"mcp": {"servers": {"db": {"type": "local", "command": ["db"]}}}}')
    client = CLIENTS[ClientName.OPENCODE]
    change.install(client, PROJECT, path, HTTP, root=tmp_path).carry_out()
    servers = json.loads(path.read_text())["mcp"]["servers"]
    assert list(servers) == ["db", "overlord"] and "enabled" not in servers["overlord"]
    change.uninstall(client, PROJECT, path, root=tmp_path).carry_out()
    assert list(json.loads(path.read_text())["mcp"]["servers"]) == ["db"]


def test_opencodes_file_with_comments_is_used_where_that_is_the_one(tmp_path: Path) -> None:
    (tmp_path / "opencode.jsonc").write_text("{} // mine\n")
    assert CLIENTS[ClientName.OPENCODE].file(PROJECT, tmp_path, {}).name == "opencode.jsonc"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (ClientName.CLAUDE, b'{"mcpServers": '),
        (ClientName.CLAUDE, b"{} // comments are nothing Claude Code reads\n"),
        (ClientName.CURSOR, b'{"mcpServers": [1]}'),
        (ClientName.CODEX, b"[mcp_servers\n"),
        (ClientName.GEMINI, b"\xff\xfe{}"),
    ],
)
def test_a_file_that_is_not_understood_is_refused_and_left(
    name: ClientName, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"file cannot be"):
        change.install(CLIENTS[name], PROJECT, path, STDIO, root=tmp_path)
    assert path.read_bytes() == content


def test_a_link_in_a_repository_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "profile"
    other.write_text("{}")
    (tmp_path / ".mcp.json").symlink_to(other)
    with pytest.raises(Refused, match="link"):
        change.install(CLIENTS[ClientName.CLAUDE], PROJECT, tmp_path / ".mcp.json", STDIO, root=tmp_path)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / ".cursor").symlink_to(folder)
    with pytest.raises(Refused, match="link"):
        change.install(
            CLIENTS[ClientName.CURSOR], PROJECT, tmp_path / ".cursor" / "mcp.json", STDIO, root=tmp_path
        ).carry_out()
    assert list(folder.iterdir()) == [] and other.read_text() == "{}"


def test_a_file_that_was_written_to_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text("{}")
    made = change.install(CLIENTS[ClientName.CLAUDE], PROJECT, path, STDIO, root=tmp_path)
    path.write_text('{"mine": 1}')
    with pytest.raises(Refused, match="somebody wrote to it meanwhile"):
        made.carry_out()
    assert path.read_text() == '{"mine": 1}'


def test_a_files_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0o640)
    change.install(CLIENTS[ClientName.GEMINI], USER, path, STDIO, root=tmp_path).carry_out()
    assert path.stat().st_mode & 0o777 == 0o640
    new = tmp_path / ".claude.json"
    change.install(CLIENTS[ClientName.CLAUDE], USER, new, STDIO, root=tmp_path).carry_out()
    assert new.stat().st_mode & 0o777 == 0o600


def test_a_program_is_named_so_that_it_is_found_from_anywhere(tmp_path: Path) -> None:
    program = tmp_path / "overlord"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert own_program(str(program), {"PATH": str(tmp_path)}, "/python") == ("overlord",)
    assert own_program(str(program), {"PATH": "/nowhere"}, "/python") == (str(program),)
    assert own_program("/site/overlord/__main__.py", {"PATH": ""}, "/python") == ("/python", "-m", "overlord")
