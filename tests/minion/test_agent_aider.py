"""Aider: what starts it, what keeps it at home, and what its text says."""

import json

from inline_snapshot import snapshot

from minion.agents.agent import Said, SaidKind
from minion.agents.aider import Aider
from minion.protocol import AgentChoice
from tests.minion.agents_given import (
    GARBAGE,
    NARROW,
    READER,
    given,
    heard,
    heard_of,
)


def test_a_prompt_is_its_standard_input_and_whatever_could_send_it_elsewhere_is_an_argument() -> None:
    program = Aider().program(given(), "Fix it.")
    assert program.stdin == "Fix it."
    assert program.arguments == snapshot(
        [
            "--model=openai/small",
            "--weak-model=openai/small",
            "--edit-format=diff",
            "--openai-api-base=http://127.0.0.1:1/v1",
            "--openai-api-key=none",
            "--map-tokens=4096",
            "--message-file=/dev/stdin",
            "--read=/work/agent/.aider/rules.md",
            "--env-file=/work/agent/.aider/env",
            "--aiderignore=/work/agent/.aider/ignore",
            "--model-metadata-file=/work/agent/.aider/models.json",
            "--model-settings-file=/work/agent/.aider/models.yml",
            "--chat-history-file=/work/agent/.aider/chat.md",
            "--input-history-file=/work/agent/.aider/input.txt",
            "--llm-history-file=/dev/null",
            "--load=/dev/null",
            "--set-env=BROWSER=true",
            "--api-key=overlord=none",
            "--test-cmd=true",
            "--lint-cmd=true",
            "--analytics-disable",
            "--disable-playwright",
            "--stream",
            "--no-auto-commits",
            "--no-dirty-commits",
            "--no-gitignore",
            "--no-pretty",
            "--no-fancy-input",
            "--no-check-update",
            "--no-show-release-notes",
            "--no-show-model-warnings",
            "--no-analytics",
            "--no-detect-urls",
            "--no-notifications",
            "--no-watch-files",
            "--no-copy-paste",
            "--no-gui",
            "--no-auto-lint",
            "--no-auto-test",
            "--no-add-gitignore-files",
            "--no-multiline",
            "--suggest-shell-commands",
            "--no-restore-chat-history",
        ]
    )
    assert program.environment == snapshot(
        {
            "OPENAI_API_BASE": "http://127.0.0.1:1/v1",
            "OPENAI_API_KEY": "none",
            "BROWSER": "true",
            "COLUMNS": "100000",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
    )
    assert program.tree_files.keys() == {".aider.tags.cache.v4"}


def test_its_files_hold_its_rules_its_model_and_what_is_closed() -> None:
    files = Aider().program(given(), "Fix it.").files
    assert files[".aider/rules.md"] == given().rules
    assert files[".aider/ignore"] == "/private/**\n/.git/**\n/.nebulus/**\n"
    assert files[".aider/chat.md"] == ""
    assert json.loads(files[".aider/models.json"])["openai/small"]["max_input_tokens"] == 100_000
    assert "OPENAI_API_BASE=http://127.0.0.1:1/v1\n" in files[".aider/env"]


def test_it_goes_on_in_its_conversation_and_further_arguments_come_last() -> None:
    choice = AgentChoice(name="aider", program="aider", arguments=("--edit-format", "whole"))
    program = Aider().program(given(choice=choice), "Go on.", resume="chat")
    assert ".aider/chat.md" not in program.files
    assert "--restore-chat-history" in program.arguments
    assert program.arguments[-2:] == ["--edit-format", "whole"]


def test_commands_run_only_where_any_may() -> None:
    assert "--yes-always" not in Aider().program(given(), "Fix it.").arguments
    for permissions in (NARROW, READER):
        arguments = Aider().program(given(permissions), "Fix it.").arguments
        assert {"--no-suggest-shell-commands", "--yes-always"} <= set(arguments)


def test_a_reader_is_asked_and_edits_nothing() -> None:
    assert "--edit-format=ask" in Aider().program(given(READER), "Look.").arguments
    assert "--edit-format=diff" in Aider().program(given(NARROW), "Fix it.").arguments


def test_what_it_said_is_understood() -> None:
    assert heard(Aider(), "aider.txt") == snapshot(
        [
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.TEXT, "I look at calc.py first.", False),
            (SaidKind.TURN, "", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.TEXT, "I fix it.", False),
            (SaidKind.TEXT, "calc.py", False),
            (SaidKind.TEXT, "```python", False),
            (SaidKind.TEXT, "<<<<<<< SEARCH", False),
            (SaidKind.TEXT, "    return a - b", False),
            (SaidKind.TEXT, "=======", False),
            (SaidKind.TEXT, "    return a + b", False),
            (SaidKind.TEXT, ">>>>>>> REPLACE", False),
            (SaidKind.TEXT, "```", False),
            (SaidKind.TEXT, "new/deep.py", False),
            (SaidKind.TEXT, "```python", False),
            (SaidKind.TEXT, "<<<<<<< SEARCH", False),
            (SaidKind.TEXT, "=======", False),
            (SaidKind.TEXT, "x = 1", False),
            (SaidKind.TEXT, ">>>>>>> REPLACE", False),
            (SaidKind.TEXT, "```", False),
            (SaidKind.TEXT, "secret.env", False),
            (SaidKind.TEXT, "```", False),
            (SaidKind.TEXT, "<<<<<<< SEARCH", False),
            (SaidKind.TEXT, "CANARY=1", False),
            (SaidKind.TEXT, "=======", False),
            (SaidKind.TEXT, "CANARY=2", False),
            (SaidKind.TEXT, ">>>>>>> REPLACE", False),
            (SaidKind.TEXT, "```", False),
            (SaidKind.TEXT, "```bash", False),
            (SaidKind.TEXT, "echo ran > ran.txt", False),
            (SaidKind.TEXT, "```", False),
            (
                SaidKind.TEXT,
                'OVERLORD_EVENT {"type":"PHASE_COMPLETE","summary":"long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words long words "}',
                False,
            ),
            (SaidKind.TURN, "", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.ACTION, "edit new/deep.py", False),
            (SaidKind.ACTION, "edit secret.env", False),
            (SaidKind.ACTION, "edit calc.py", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.ACTION, "run echo ran > ran.txt", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.SESSION, "chat", False),
            (SaidKind.TURN, "", False),
            (SaidKind.TEXT, "Analytics have been permanently disabled.", False),
            (
                SaidKind.TEXT,
                "Unable to use tags cache at /work/tree/.aider.tags.cache.v4, falling back to memory cache",
                False,
            ),
            (SaidKind.TEXT, "Aider v0.86.2", False),
            (SaidKind.TEXT, "Model: openai/m with diff edit format", False),
            (SaidKind.TEXT, "Git repo: .git with 19 files", False),
            (SaidKind.TEXT, "Repo-map: using 4096 tokens, auto refresh", False),
            (SaidKind.TEXT, "Added ../home/.aider/rules.md to the chat (read-only).", False),
            (
                SaidKind.ERROR,
                "litellm.APIError: APIError: OpenAIException - The budget of this session is spent",
                False,
            ),
            (SaidKind.ERROR, "Retrying in 0.2 seconds...", False),
            (
                SaidKind.ERROR,
                "litellm.APIError: APIError: OpenAIException - The budget of this session is spent",
                False,
            ),
            (SaidKind.ERROR, "Retrying in 0.5 seconds...", False),
            (SaidKind.TEXT, "late", False),
            (SaidKind.TURN, "", False),
        ]
    )


def test_what_a_command_prints_is_no_word_of_the_model() -> None:
    agent = Aider()
    lines = (
        "Aider v0.86.2",
        "Model: of the city",
        "I look.",
        "Running it shows the fault.",
        "Tokens: 1k sent, 5 received.",
        "cat notes",
        "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: ",
        "Running cat notes",
        'OVERLORD_EVENT {"type": "PHASE_COMPLETE"}',
    )
    said = heard_of(agent, lines)
    assert [piece.text for piece in said if piece.kind is SaidKind.TEXT] == [
        "I look.",
        "Running it shows the fault.",
        "cat notes",
    ]
    assert said[-2:] == [
        Said(kind=SaidKind.ACTION, text="run cat notes"),
        Said(kind=SaidKind.SESSION, text="chat"),
    ]
    agent.program(given(), "Go on.")
    assert [piece.kind for piece in agent.read("OVERLORD_EVENT {}")] == [SaidKind.TEXT]


def test_whatever_comes_nothing_is_raised() -> None:
    said = heard_of(Aider(), GARBAGE)
    assert {piece.kind for piece in said} == {SaidKind.SESSION, SaidKind.TEXT}
