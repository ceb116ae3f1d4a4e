#!/usr/bin/env python3
"""A stand-in for Cursor's CLI, which speaks its documented protocol and makes no call to any network.

It does what a script says: the JSON list in CURSOR_STUB_SCRIPT, else in the file beside this one whose name ends in `.json`. A step
is one of `{"say": TEXT}`, `{"write": [PATH, TEXT]}`, `{"run": COMMAND}`, `{"print": TEXT}` (as it is, no event),
`{"fail": TEXT}` and `{"linger": true}`, which keeps it running after its result. What its configuration denies, it does not do.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import uuid
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any


def arguments() -> argparse.Namespace:
    """The call, as it is documented; an option that is not fails."""
    parser = argparse.ArgumentParser(prog="cursor-agent")
    parser.add_argument("-p", "--print", action="store_true")
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], default="text")
    for switch in ("--trust", "--approve-mcps", "--force"):
        parser.add_argument(switch, action="store_true")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--resume", default="")
    parser.add_argument("prompt")
    return parser.parse_args()


def permissions() -> dict[str, list[str]]:
    """Those of its configuration, which has to be whole."""
    directory = Path(os.environ.get("CURSOR_CONFIG_DIR", Path.home() / ".cursor"))
    read = json.loads((directory / "cli-config.json").read_text())
    assert read["version"] == 1
    assert isinstance(read["editor"]["vimMode"], bool)
    found: dict[str, list[str]] = read["permissions"]
    return found


def is_denied(rules: dict[str, list[str]], kind: str, about: str, *, is_forced: bool) -> bool:
    """Whether a call may not run: what is denied counts most; what is not allowed needs --force."""

    def names(listed: list[str]) -> bool:
        patterns = [rule[len(kind) + 1 : -1] for rule in listed if rule.startswith(f"{kind}(")]
        return any(fnmatchcase(about, pattern.replace("**/", "*").replace("**", "*")) for pattern in patterns)

    return names(rules["deny"]) or not (is_forced or names(rules["allow"]))


class Stub:
    """One run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.rules = permissions()
        self.session = given.resume or str(uuid.uuid4())
        self.said: list[str] = []
        self.lingers = False

    def event(self, kind: str, **more: Any) -> None:
        """Write one event."""
        print(json.dumps({"type": kind, **more, "session_id": self.session}), flush=True)

    def message(self, role: str, text: str) -> None:
        """Somebody's words."""
        self.event(role, message={"role": role, "content": [{"type": "text", "text": text}]})

    def call(self, tool: str, given: dict[str, str], result: dict[str, Any]) -> None:
        """A call with its result."""
        number = f"call_{uuid.uuid4().hex[:8]}"
        self.event("tool_call", subtype="started", call_id=number, tool_call={tool: {"args": given}})
        done = {tool: {"args": given, "result": result}}
        self.event("tool_call", subtype="completed", call_id=number, tool_call=done)

    def write(self, path: str, text: str) -> None:
        """Write a file, where that is not denied."""
        name = os.path.relpath(os.path.realpath(path), os.path.realpath("."))
        if is_denied(self.rules, "Write", name, is_forced=self.given.force):
            return self.call("writeToolCall", {"path": path}, {"rejected": {"reason": "denied"}})
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
        lines = len(text.splitlines())
        self.call("writeToolCall", {"path": path, "fileText": text}, {"success": {"linesCreated": lines}})
        return None

    def run(self, command: str) -> None:
        """Run a command, where its program is not denied."""
        if is_denied(self.rules, "Shell", command.split(maxsplit=1)[0], is_forced=self.given.force):
            return self.call("shellToolCall", {"command": command}, {"rejected": {"reason": "denied"}})
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        self.call(
            "shellToolCall",
            {"command": command},
            {"success": {"exitCode": done.returncode, "stdout": done.stdout}},
        )
        return None

    def play(self, script: list[dict[str, Any]]) -> None:
        """Do what the script says, and end."""
        self.event(
            "system",
            subtype="init",
            apiKeySource="env",
            cwd=os.getcwd(),
            model="Stub",
            permissionMode="default",
        )
        self.message("user", self.given.prompt)
        for step in script:
            match step:
                case {"say": text}:
                    self.said.append(text)
                    self.message("assistant", text)
                case {"write": [path, text]}:
                    self.write(path, text)
                case {"run": command}:
                    self.run(command)
                case {"print": text}:
                    print(text, flush=True)
                case {"fail": text}:
                    print(text, file=sys.stderr)
                    sys.exit(1)
                case {"linger": _}:
                    self.lingers = True
        self.event(
            "result",
            subtype="success",
            duration_ms=1,
            duration_api_ms=1,
            is_error=False,
            result="".join(self.said),
            request_id=str(uuid.uuid4()),
        )
        while self.lingers:
            signal.pause()


def main() -> None:
    """Play the script."""
    given = arguments()
    text = os.environ.get("CURSOR_STUB_SCRIPT", "")
    beside = Path(__file__).with_suffix(".json")
    if not text and beside.exists():
        text = beside.read_text()
    Stub(given).play(json.loads(text or "[]"))


if __name__ == "__main__":
    main()
