"""`space add` asks the forge before a repository is in care, `space show` begins with what somebody said; near names are suggested."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from overlord.domain.text.near import did_you_mean
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.home import Home
from overlord.settings.load import Settings
from overlord.settings.suggestion import near_setting
from overlord.store.database import open_reader
from overlord.store.spaces import managed
from tests.app_keys import keys, write_key
from tests.cli.conftest import Overlord, Said

THERE, ELSEWHERE, NONE = "acme/web", "acme/elsewhere", "acme/none"
Typed = Callable[..., Awaitable[Said]]


@pytest.fixture
async def typed(
    home: Home, overlord: Overlord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Typed]:
    """Type `overlord …` beside a forge with three repositories, of which an App sees two."""
    forge = EmbeddedForge(tmp_path / "forge")
    for name in ("acme/calc", THERE, ELSEWHERE):
        await forge.create_repository(name, files={"README.md": "# It\n"})
    app = forge.add_app("overlord-acme", keys()[1], ["acme/calc", THERE])
    async with forge.serve() as url:
        monkeypatch.setenv("GITHUB_API_URL", url)

        async def typing(*words: str, by: str = "token") -> Said:
            if by == "token":
                monkeypatch.setenv("GITHUB_TOKEN", forge.token)
            else:
                monkeypatch.delenv("GITHUB_TOKEN", raising=False)
            if by == "app":
                monkeypatch.setenv("GITHUB_APP_ID", str(app.id))
                monkeypatch.setenv("GITHUB_APP_PRIVATE_KEY_FILE", str(write_key(tmp_path / "key.pem")))
            return await asyncio.to_thread(overlord, *words)

        yield typing
    forge.close()


def added(home: Home) -> list[str]:
    if not home.database.exists():
        return []
    connection = open_reader(home.database)
    try:
        return sorted(managed.added(connection))
    finally:
        connection.close()


@pytest.mark.parametrize("by", ["token", "app"])
async def test_a_repository_that_is_there_is_added_as_the_forge_spells_it(
    typed: Typed, home: Home, by: str
) -> None:
    said = await typed("space", "add", THERE.upper(), by=by)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{THERE} is managed by Overlord;")
    assert added(home) == [THERE]


@pytest.mark.parametrize(
    ("name", "by", "code", "reason"),
    [
        (NONE, "token", 4, f" knows no repository {NONE}, or the token may not see it. "),
        (NONE, "app", 5, f" is not installed on {NONE}, or there is no such repository; "),
        (ELSEWHERE, "app", 5, f" is not installed on {ELSEWHERE}, or there is no such repository; "),
    ],
)
async def test_one_that_is_not_there_or_not_to_be_seen_is_not_added(
    typed: Typed, home: Home, name: str, by: str, code: int, reason: str
) -> None:
    said = await typed("space", "add", name, by=by)
    assert (said.code, said.out) == (code, "")
    assert reason in said.err and said.err.endswith("Nothing was added.\n")
    assert added(home) == []


async def test_what_was_added_before_and_is_given_more_needs_no_asking(typed: Typed, home: Home) -> None:
    assert (await typed("space", "add", NONE, "--unchecked", by="nobody")).code == 0
    said = await typed("space", "add", NONE, "--set", "merge=manual", by="nobody")
    assert (said.code, said.out.split(";")[0]) == (0, f"{NONE} has these settings of its own")
    assert added(home) == [NONE]


async def test_without_a_sign_in_or_an_answer_it_is_said_and_nothing_is_added(
    typed: Typed, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = await typed("space", "add", THERE, by="nobody")
    assert said.code == 3
    assert "there is no sign-in; set GITHUB_TOKEN, or GITHUB_APP_ID" in said.err
    assert said.err.endswith("Nothing was added. `--unchecked` adds it without asking\n")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    said = await typed("space", "add", THERE)
    assert said.code == 6
    assert said.err.startswith(
        f"overlord: GitHub at http://127.0.0.1:9 does not answer when asked for {THERE}: "
    )
    assert added(home) == []
    assert (await typed("space", "add", THERE, "--unchecked")).code == 0
    assert added(home) == [THERE]


async def test_what_somebody_said_of_a_repository_is_shown_before_the_defaults(typed: Typed) -> None:
    await typed("space", "add", THERE, "--set", "labels.work=robot", "--base-branch", "next")
    shown = (await typed("space", "show", THERE)).out
    differs, _, rest = shown.partition("\nAs by default:\n")
    title = f"What {THERE} is worked on by"
    assert differs.splitlines()[:2] == [title, "Differs from the default:"]
    assert "labels.work" in differs and '"robot"' in differs and "base_branch" in differs
    assert "sessions.turns" in rest and "labels.work " not in rest
    assert "Nothing differs from the default.\n" in (await typed("space", "show", "calc")).out


async def test_of_mcp_servers_the_names_are_shown_and_of_the_agent_who_it_is(
    typed: Typed, home: Home
) -> None:
    servers = {
        "units": {"command": ["unit-tools"], "environment": {"UNITS": "env-canary"}},
        "docs": {
            "url": "https://docs.example.com/mcp",
            "headers": {"Authorization": "head-canary"},
            "tools": ["search"],
        },
    }
    home.root.mkdir(exist_ok=True)
    (home.root / "overlord.yaml").write_text(json.dumps({"agent": "codex", "mcp": servers}))
    said = await typed("space", "show", "calc")
    differs, _, _ = said.out.partition("\nAs by default:\n")
    assert '["docs", "units"]' in differs and '"codex"' in differs
    values = (await typed("space", "show", "calc", "--json")).out
    assert "canary" not in said.out + values and "docs.example.com" not in said.out + values


def test_a_name_that_nobody_knows_is_answered_with_those_that_are_like_it() -> None:
    assert did_you_mean("base_brnch", ["base_branch", "budget"]) == "; did you mean base_branch?"
    assert did_you_mean("weather", ["base_branch", "budget"]) == ""
    assert did_you_mean("MODLE", ["MODEL"], prefix="OVERLORD_") == "; did you mean OVERLORD_MODEL?"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("labels.wrok", "; did you mean work?"),
        ("polls", "; did you mean poll_s?"),
        ("spaces.acme/calc.buget", "; did you mean budget?"),
        ("spaces.acme/calc.labels.wrok", "; did you mean work?"),
        ("nothing.at.all", ""),
        ("spaces.acme/calc.xyzzy", ""),
    ],
)
def test_a_setting_that_is_not_there_is_answered_with_its_neighbours(place: str, said: str) -> None:
    assert near_setting(Settings, place.split(".")) == said


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("status", "--jsn"), "No such option: --jsn (Possible options: --json)"),
        (("statsu",), "No such command 'statsu'. Did you mean 'status'"),
        (("decisions", "anser", "1"), "No such command 'anser'. Did you mean 'answer'?"),
        (("space", "add", THERE, "--set", "buget.job_usd=2"), "'; did you mean budget?"),
    ],
)
def test_a_mistyped_command_option_or_key_is_answered_with_the_near_one(
    overlord: Overlord, words: tuple[str, ...], near: str
) -> None:
    said = overlord(*words)
    assert said.code in {2, 3}
    assert near in " ".join(said.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("shell", "mark"),
    [("bash", "complete -o default"), ("zsh", "#compdef overlord"), ("fish", "complete --command overlord")],
)
def test_completion_is_printed_for_each_shell(
    overlord: Overlord, shell: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = overlord("completion", shell)
    assert (said.code, mark in said.out) == (0, True)
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert overlord("completion").out == said.out


def test_which_shell_is_asked_where_it_is_another_one(
    overlord: Overlord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    said = overlord("completion")
    assert said.code == 2 and "say which shell: bash, zsh, fish" in said.err


def test_bash_completes_what_it_was_told_to(tmp_path: Path) -> None:
    """As README.md has it: sourced, then asked as bash asks on a press of Tab."""
    bash = shutil.which("bash")
    assert bash is not None
    asked = (
        "source <(overlord completion bash); COMP_WORDS=(overlord decisions an); COMP_CWORD=2;"
        " _overlord_completion overlord; echo ${COMPREPLY[@]}"
    )
    path = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run([bash, "-c", asked], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("answer\n", "")
