"""Aider, by `aider --message-file`: it writes text, no events, and leaves with 0 whatever has happened, so its diff says what it did.

It takes no tools of ours and asks nobody: `--yes-always` means yes to edits and no to commands, and without it the end of its
standard input means yes to both. It always reads `.aider.conf.yml` and `.env` of the working copy; what is said on its command
line and in the environment file named there comes before them, so whatever could send it elsewhere is said there.
"""

import json
import re
from collections.abc import Iterable, Sequence
from enum import Enum

from minion.agents.agent import Capabilities, Given, Program, Said, SaidKind

_STATE = ".aider"
_CONVERSATION = "chat"
"""It keeps one conversation in a home, and gives it no id."""
_TAGS = ".aider.tags.cache.v4"
"""The directory it makes in the working copy for what it knows of names. Where a file stands in its place, it uses memory."""
_MOST_MAP_TOKENS = 4096
_COLUMNS = 100_000
"""It breaks lines at the width of its terminal, also where there is none."""
_OFF = (
    "auto-commits dirty-commits gitignore pretty fancy-input check-update show-release-notes show-model-warnings analytics "
    "detect-urls notifications watch-files copy-paste gui auto-lint auto-test add-gitignore-files multiline"
)
_ACTIONS = {"Applied edit to ": "edit", "Running ": "run", "Committing ": "commit"}
_BANNER = re.compile(
    r"(Aider v[\d.]+|Model|Main model|Weak model|Git repo|Repo-map|Analytics have|Added .* to the chat|Creating empty file|"
    r"Restored previous|Unable to use tags cache|Cost estimates|Scanning repo|Initial repo scan|Update git)\b"
)
_ASKED = re.compile(r"[^(]{1,200}\? \(Y\)es/\(N\)o[^\[]{0,60}\[Yes\]: ?")
"""What it asks the end of its standard input; the model's next words follow on the same line."""
_COMMANDS_NEXT = "Run shell command"
_ERROR = re.compile(r"litellm\.\w+|Retrying in [\d.]+ seconds|Skipping edits to |Only \d+ reflections")
_PATH = re.compile(r"[\w@+.-]{1,100}(?:/[\w@+.-]{1,100}){0,30}")
_NOTHING = (Said(kind=SaidKind.SESSION, text=_CONVERSATION),)
_ASKED_AGAIN = "Please answer with one of: "  # what it says to itself


class _Place(Enum):
    """Where its output stands; at its end it does what the reply says."""

    START, REPLY, AFTER_REPLY, END = range(4)


class Aider:
    """Aider as an agent of a session."""

    name = "aider"
    executables: Sequence[str] = ("aider",)
    capabilities = Capabilities(
        structured_events=False, permission_before_call=False, usage=False, resume=True, mcp=False
    )

    def __init__(self) -> None:
        self._at = _Place.START

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`aider` for one message, from its standard input. Its rules are a file that it reads and does not edit."""
        self._at = _Place.START
        state = given.home / _STATE
        model = f"openai/{given.model}"
        endpoint = {"OPENAI_API_BASE": f"{given.base_url}/v1", "OPENAI_API_KEY": "none", "BROWSER": "true"}
        runs = given.permissions.commands is None and not given.permissions.is_reader
        values = {
            "model": model,
            "weak-model": model,
            "edit-format": "ask" if given.permissions.is_reader else "diff",
            "openai-api-base": endpoint["OPENAI_API_BASE"],
            "openai-api-key": endpoint["OPENAI_API_KEY"],
            "map-tokens": str(min(_MOST_MAP_TOKENS, given.context_tokens // 16)),
            "message-file": "/dev/stdin",
            "read": str(state / "rules.md"),
            "env-file": str(state / "env"),
            "aiderignore": str(state / "ignore"),
            "model-metadata-file": str(state / "models.json"),
            "model-settings-file": str(state / "models.yml"),
            "chat-history-file": str(state / "chat.md"),
            "input-history-file": str(state / "input.txt"),
            "llm-history-file": "/dev/null",
            "load": "/dev/null",
            "set-env": "BROWSER=true",
            "api-key": "overlord=none",
            "test-cmd": "true",
            "lint-cmd": "true",
        }
        switches = [
            "analytics-disable",
            "disable-playwright",
            "stream",
            *(f"no-{name}" for name in _OFF.split()),
        ]
        switches += ["suggest-shell-commands"] if runs else ["no-suggest-shell-commands", "yes-always"]
        switches += ["restore-chat-history"] if resume else ["no-restore-chat-history"]
        return Program(
            arguments=[
                *(f"--{name}={value}" for name, value in values.items()),
                *(f"--{name}" for name in switches),
                *given.choice.arguments,
            ],
            environment={**endpoint, "COLUMNS": str(_COLUMNS), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            files=_files(given, model, endpoint) | ({} if resume else {f"{_STATE}/chat.md": ""}),
            stdin=prompt,
            tree_files={_TAGS: "Aider keeps its map of the repository in memory.\n"},
        )

    def read(self, line: str) -> Iterable[Said]:
        """What a line of its text says: an edit, a command, a fault, or words of the model.

        What commands print comes as lines of its own, and may be anything: nothing after an edit or a command is a word of the
        model until the next prompt. What is no word of the model says which conversation it is, so that it is not taken for one.
        """
        text = line.rstrip()
        if "? (Y)es/(N)o" in text:
            text = _ASKED.sub("", text, count=1)
        if line.startswith(_COMMANDS_NEXT) and text != line.rstrip():
            self._at = _Place.END
        if text.startswith("Tokens: "):
            self._at = _Place.AFTER_REPLY
            return (Said(kind=SaidKind.TURN),)
        for start, verb in _ACTIONS.items() if self._at in (_Place.AFTER_REPLY, _Place.END) else ():
            if text.startswith(start):
                self._at = _Place.END
                return (Said(kind=SaidKind.ACTION, text=f"{verb} {text.removeprefix(start)[:200]}"),)
        if _ERROR.match(text):
            return (Said(kind=SaidKind.ERROR, text=text),)
        noise = {_Place.START: _BANNER.match, _Place.AFTER_REPLY: _PATH.fullmatch}.get(self._at)
        if text.startswith(_ASKED_AGAIN) or not text or self._at is _Place.END or (noise and noise(text)):
            return _NOTHING
        self._at = _Place.REPLY
        return (Said(kind=SaidKind.TEXT, text=text),)


def _files(given: Given, model: str, endpoint: dict[str, str]) -> dict[str, str]:
    tokens = given.context_tokens
    known = {"max_tokens": tokens // 4, "max_input_tokens": tokens, "max_output_tokens": tokens // 4}
    settings = [{"name": model, "use_temperature": False}, {"name": "aider/extra_params", "extra_params": {}}]
    closed = [*given.permissions.secret, *given.permissions.closed]
    return {
        f"{_STATE}/rules.md": given.rules,
        f"{_STATE}/env": "".join(f"{name}={value}\n" for name, value in endpoint.items()),
        f"{_STATE}/ignore": "".join(f"/{pattern.lstrip('/')}\n" for pattern in closed),
        # Without what a model is it would ask the network.
        f"{_STATE}/models.json": json.dumps({model: {**known, "litellm_provider": "openai", "mode": "chat"}}),
        f"{_STATE}/models.yml": json.dumps(settings),
    }
