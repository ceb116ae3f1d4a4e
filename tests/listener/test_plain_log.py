"""The log on a terminal: a line for each event in words, the chat page's address first; and JSON where nobody reads along."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import structlog
from inline_snapshot import snapshot

from overlord.domain.event import EventName
from overlord.embedded.play import edit, submit
from overlord.entrypoints.terminal.logs import form_of
from overlord.entrypoints.terminal.plain_lines import SENTENCE, PlainLines, plain_lines
from overlord.settings.watch import Log, LogFormat
from tests.listener.test_daemon import served
from tests.quick import made_quick_world
from tests.world import FIX

TIME = re.compile(r"^\d\d:\d\d:\d\dZ  ")


def line(name: str, level: str = "info", **fields: Any) -> str:
    """What an event looks like in a file, without its time."""
    shown = PlainLines(is_terminal=False, has_colours=False)(
        None, level, {"event": name, "level": level, **fields}
    )
    assert TIME.match(shown)
    return TIME.sub("", shown)


def test_a_fact_is_its_sentence_and_whose_it_is() -> None:
    fact: Mapping[str, Any] = {SENTENCE: "claimed acme/calc#1: it\nsubtracts", "seq": 3, "space": "acme/calc"}
    assert line("claimed", job_id=1, data={"title": "x"}, **fact) == (
        "job 1  claimed acme/calc#1: it subtracts"
    )


@pytest.mark.parametrize("name", [EventName.SESSION_PREPARED, EventName.SESSION_ENDED])
def test_steps_of_the_machine_are_no_lines(name: EventName) -> None:
    with pytest.raises(structlog.DropEvent):
        line(name, job_id=1, **{SENTENCE: "x"})


def test_what_the_program_says_of_itself_is_a_sentence() -> None:
    said = [
        line("talk_here", page="http://127.0.0.1:8713/?token=x", instead_of="Slack"),
        line("no_page", "warning", address="127.0.0.1:8713", reason="Address already in use"),
        line("no_chat", reason="Slack is not connected", how="See the page"),
        line("serving", repositories=["acme/calc", "acme/web"], runner="docker", home="/srv/overlord"),
        line("listening", address="127.0.0.1:8712", webhooks=True),
        line("talking", channel="C1", by="socket mode"),
        line("hinted", space="acme/calc"),
        line("repository_not_reached", "warning", space="acme/calc", trouble="Not Found", again_in_s=30.0),
        line("repository_read_in_part", "warning", space="acme/calc", trouble="checks", again_in_s=None),
        line("repository_reached_again", space="acme/calc", after="Not Found"),
        line("step_put_off", "warning", job_id=4, trouble="timed out", failures=2),
        line("forge_does_not_answer", "warning", trouble="timed out", space="acme/calc"),
        line("forge_lacks_feature", "warning", forge="https://ghe.acme.test", feature="sub-issues"),
        line("mcp_called", job_id=4, server="docs", tool="search", duration_s=0.25),
        line(
            "mcp_server_failed", "warning", job_id=4, server="docs", method="tools/call", trouble="it is away"
        ),
        line("settings_changed", what=["labels.work"], needs_restart=["runner"]),
        line("settings_changed", what=["labels.work"], needs_restart=[]),
        line("settings_refused", "error", problem="labels.wrok: unknown", kept="the last good ones"),
        line("model_without_price", models=["a", "b"], budgets="tokens only"),
        line("no_containers", reason="no engine", runner="process"),
        line("disk", "warning", trouble="full"),
        line("disk_low", "warning", new_work=False),
        line("disk_has_room", "warning", new_work=True),
        line("cut_short", "warning", why="told twice"),
        line("stopping", within_s=9.0),
        line("stopped"),
    ]
    assert "\n".join(said) == snapshot("""\
Talk with Overlord at http://127.0.0.1:8713/?token=x (it stands in for Slack)
warning: there is no chat page at 127.0.0.1:8713: Address already in use
There is no chat: Slack is not connected. See the page
Watching acme/calc, acme/web with the docker runner; state in /srv/overlord. Ctrl-C stops.
Listening at 127.0.0.1:8712 for webhooks too
Speaking in the channel C1
GitHub says that there is something new in acme/calc
warning: acme/calc cannot be reached: Not Found; asked again in 30 s
warning: acme/calc can be read only in part: checks
acme/calc can be reached again
job 4  warning: a step failed and is tried again: timed out
warning: GitHub does not answer: timed out
warning: https://ghe.acme.test has no sub-issues: work goes on without them
job 4  its session used search of the MCP server docs (0.2 s)
job 4  warning: its session got no answer to tools/call: it is away
Settings changed: labels.work; these count after a restart: runner
Settings changed: labels.work
error: the settings do not load, the last good ones stay: labels.wrok: unknown
No price is known for a, b: budgets count its tokens alone
No container engine answers: sessions run as processes (no engine)
warning: the disk: full
warning: the disk runs low: nothing new is begun
warning: the disk has room again: new work is begun
warning: ended at once: told twice; the next start goes on from here
Stopping: what is in flight has 9 s to end; sessions go on. Ctrl-C again ends at once.
Stopped. Nothing is lost: the next start goes on from here.\
""")


def test_what_has_no_sentence_is_shown_as_it_is_with_all_it_says() -> None:
    assert line("not_acknowledged", "warning", space="acme/calc", comment=7, reason="no\x1b[2J way") == (
        "warning: acme/calc: not acknowledged: comment 7, reason no[2J way"
    )
    assert line("said so: 1 of 2", "warning", logger="some.library") == "warning: said so: 1 of 2"
    assert line("serving", other="shape") == "serving: other shape"
    assert line("caught", "error", exception="Traceback …\nValueError: x") == (
        "error: caught\nTraceback …\nValueError: x"
    )


def test_commands_in_it_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERLORD_COMMAND", "docker compose exec overlord overlord")
    said = line("step_put_off", "warning", trouble="no permission; `overlord doctor` looks")
    assert said.endswith("no permission; `docker compose exec overlord overlord doctor` looks")


def test_on_a_terminal_a_fact_is_one_line_and_a_warning_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = PlainLines(is_terminal=True, has_colours=True)
    fact = lines(None, "info", {"event": "claimed", "level": "info", "job_id": 1, SENTENCE: "é" * 99})
    plain = re.sub(r"\x1b\[[0-9;]*m", "", fact)
    assert len(plain) == 40 and plain.endswith("é…")
    warned = lines(None, "warning", {"event": "disk", "level": "warning", "trouble": "x" * 99})
    assert "x" * 99 in warned and "\x1b[35mwarning: " in warned


@pytest.mark.parametrize(
    ("environment", "is_coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_are_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_coloured: bool
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = plain_lines()(None, "warning", {"event": "disk", "level": "warning", "trouble": "full"})
    assert ("\x1b[" in said) is is_coloured


@pytest.mark.parametrize(
    ("given", "asked", "form"),
    [
        ("auto", None, "json"),
        ("plain", None, "plain"),
        ("console", None, "console"),
        ("json", "plain", "plain"),
        ("plain", "json", "json"),
    ],
)
def test_its_form_is_the_settings_or_the_command_lines(given: LogFormat, asked: Any, form: str) -> None:
    """Standard error is no terminal here."""
    assert form_of(Log(format=given, level="info"), asked) == form


async def test_a_story_is_told_in_lines_that_begin_with_where_to_talk() -> None:
    async with made_quick_world(poll_s=1, slack={"page": "127.0.0.1:0"}) as world:
        world.model_will(edit(*FIX), submit("add() adds again."))
        await world.issue("add() subtracts")
        async with served(world, flags=("--log", "plain")) as daemon:
            first = await daemon.line("Talk with Overlord at http://127.0.0.1:")
            await daemon.line("pull request #2 is in review")
            assert await daemon.stopped() == 0
    lines = [TIME.sub("", said) for said in daemon.log.splitlines()]
    assert all(TIME.match(said) for said in daemon.log.splitlines())
    assert TIME.sub("", first).strip() == lines[0]
    for said in (
        "job 1  claimed acme/calc#1: add() subtracts",
        "job 1  the Minion is at work; it may write calc.py, tests/test_calc.py",
        "job 1  pull request #2 is in review",
        "Stopped. Nothing is lost: the next start goes on from here.",
    ):
        assert said in lines
