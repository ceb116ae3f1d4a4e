"""Configuration that people wrote is changed in one place: what stands around it stays, in values and in characters."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.entrypoints.mcp.install import json_text, toml_text
from overlord.entrypoints.mcp.install.json_text import JsonTextError
from overlord.entrypoints.mcp.install.toml_text import TomlTextError

PATH = ("mcpServers", "overlord")
ENTRY = {"command": "overlord", "args": ["mcp"]}

COMMENTED = """\
// mine
{
\t"theme": "dark", // at night
\t"mcpServers": {
\t\t/* the team's */
\t\t"db": {"command": "db"}, // not ours
\t},
}
"""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
SERVERS = st.dictionaries(st.text(max_size=6), VALUES, max_size=3)


@given(
    rest=st.dictionaries(st.text(max_size=6).filter(lambda name: name != "mcpServers"), VALUES, max_size=3),
    servers=st.none() | SERVERS,
    indent=st.sampled_from([None, 1, 2, "\t"]),
)
def test_a_value_put_in_and_taken_out_leaves_what_was_there(
    rest: dict[str, object], servers: dict[str, object] | None, indent: int | str | None
) -> None:
    whole = {**rest, **({"mcpServers": servers} if servers is not None else {})}
    text = json.dumps(whole, indent=indent, ensure_ascii=False)
    made = json_text.put(text, PATH, ENTRY, comments=False)
    assert json.loads(made) == {**rest, "mcpServers": {**(servers or {}), "overlord": ENTRY}}
    back = json.loads(json_text.remove(made, PATH, comments=False))
    assert back == {**rest, "mcpServers": {k: v for k, v in (servers or {}).items() if k != "overlord"}}


def test_comments_and_commas_after_the_last_entry_stay() -> None:
    made = json_text.put(COMMENTED, PATH, ENTRY, comments=True)
    assert [line for line in COMMENTED.splitlines() if line not in made.splitlines()] == []
    assert '\t\t"db": {"command": "db"}, // not ours\n\t\t"overlord": {\n\t\t\t"command": "overlord",' in made
    assert json_text.remove(made, PATH, comments=True).count("overlord") == 0
    assert "// not ours" in json_text.remove(made, PATH, comments=True)


def test_lines_end_as_the_others_do() -> None:
    text = '{\r\n  "mcpServers": {\r\n    "db": {}\r\n  }\r\n}\r\n'
    made = json_text.put(text, PATH, ENTRY, comments=False)
    assert made.replace("\r\n", "").count("\n") == 0 and made.startswith(text[:-12].rstrip("\r\n "))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: a name in double quotes is missing"),
        ('{"a": 1 "b": 2}', "line 1: a comma is missing"),
        ('{\n"a": 1,\n}', "line 3: a comma stands after the last entry"),
        ('{"a": 1} x', "line 1: something stands after the end"),
        ('{"mcpServers": []}', "mcpServers is no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "'mcpServers' is in it twice"),
        ("[" * 5000, "line 1: it is nested too deep"),
        ('{"a": NaN}', "line 1: a value is missing"),
        ("[]", "the whole is no object"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(JsonTextError) as caught:
        json_text.put(text, PATH, ENTRY, comments=False)
    assert str(caught.value) == why


TOML_PATH = ("mcp_servers", "overlord")
CODEX = """\
model = "gpt-5" # mine

[mcp_servers.db]
command = "db"

# what follows is about looks
[tui]
theme = "dark"
"""


def test_a_table_goes_to_the_end_and_away_again() -> None:
    made = toml_text.put(CODEX, TOML_PATH, ENTRY)
    assert made == f'{CODEX}\n[mcp_servers.overlord]\ncommand = "overlord"\nargs = ["mcp"]\n'
    assert toml_text.remove(made, TOML_PATH) == CODEX


def test_a_table_is_exchanged_where_it_is() -> None:
    text = CODEX.replace(
        "# what",
        '[ mcp_servers . "overlord" ] # ours\ncommand = "old"\n\n[mcp_servers.overlord.env]\nA = "b"\n\n# what',
    )
    made = toml_text.put(text, TOML_PATH, ENTRY)
    assert tomllib.loads(made)["mcp_servers"] == {"db": {"command": "db"}, "overlord": ENTRY}
    assert made.index("[mcp_servers.overlord]") < made.index("\n# what follows is about looks\n[tui]\n")
    assert toml_text.put(made, TOML_PATH, ENTRY) == made


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { db = { command = "db" } }\n',
        'mcp_servers.overlord.command = "old"\n',
        '[mcp_servers]\noverlord = { command = "old" }\n',
        "[mcp_servers.overlord]\ncommand = [\n[1],\n]\n",
    ],
)
def test_a_table_written_in_another_way_is_left_to_the_person(text: str) -> None:
    with pytest.raises(TomlTextError, match="cannot be changed by its lines"):
        toml_text.put(text, TOML_PATH, ENTRY)


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(TomlTextError, match="line 1"):
        toml_text.put("a = = b\n", TOML_PATH, ENTRY)
