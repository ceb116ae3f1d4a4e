"""An agent that speaks ACP and does what a script says. It is started as `python acp_stub.py DIRECTORY`.

`DIRECTORY/script.json` has what it says of itself and, for each prompt, a list of steps; `DIRECTORY/heard.jsonl` gets all it hears.
It uses nothing of the project.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

HOME = Path(sys.argv[1])
SCRIPT = json.loads((HOME / "script.json").read_text())
SESSION = "s-1"


def send(message: dict[str, Any]) -> None:
    """Write a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hear() -> dict[str, Any]:
    """The next message; the program ends with its input."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with (HOME / "heard.jsonl").open("a") as file:
        file.write(line)
    heard: dict[str, Any] = json.loads(line)
    return heard


def ask(method: str, **params: Any) -> dict[str, Any]:
    """Ask the client, and wait for its answer."""
    send({"id": f"r-{time.monotonic_ns()}", "method": method, "params": {"sessionId": SESSION, **params}})
    return hear()


def update(kind: str, /, **more: Any) -> None:
    """Tell of the turn."""
    send(
        {
            "method": "session/update",
            "params": {"sessionId": SESSION, "update": {"sessionUpdate": kind, **more}},
        }
    )


def may(call: dict[str, Any]) -> bool:
    """Whether a call may run."""
    options = [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    answer = ask("session/request_permission", toolCall=call, options=options)
    return bool(answer["result"]["outcome"].get("optionId") == "once")


def play(number: Any, steps: list[list[Any]]) -> None:
    """Answer one prompt."""
    for step in steps:
        match step:
            case ["say", *pieces]:
                for piece in pieces:
                    update("agent_message_chunk", content={"type": "text", "text": piece})
            case ["write", path, text]:
                call = {
                    "toolCallId": path,
                    "title": f"Write {path}",
                    "kind": "edit",
                    "locations": [{"path": path}],
                }
                update("tool_call", status="pending", **call)
                if may({"toolCallId": path}):
                    Path(path).write_text(text)
            case ["ask", method, params]:
                ask(method, **params)
            case ["update", kind, more]:
                update(kind, **more)
            case ["raw", text]:
                print(text, flush=True)
            case ["spawn", *command]:
                os.spawnvp(os.P_NOWAIT, command[0], command)
            case ["hang"]:
                while hear().get("method") != "session/cancel":
                    pass
                return send({"id": number, "result": {"stopReason": "cancelled"}})
            case ["deaf"]:
                signal.pause()
            case ["die", text]:
                print(text, file=sys.stderr)
                sys.exit(7)
            case ["error", error]:
                return send({"id": number, "error": error})
            case ["end", result]:
                return send({"id": number, "result": result})
    return send({"id": number, "result": {"stopReason": "end_turn"}})


def main() -> None:
    """Answer until the input ends."""
    prompts = iter(SCRIPT["prompts"])
    while True:
        message = hear()
        match message.get("method"):
            case "initialize":
                send({"id": message["id"], **SCRIPT["initialize"]})
            case "session/new":
                send({"id": message["id"], **SCRIPT["new"]})
            case "session/prompt":
                play(message["id"], next(prompts))


if __name__ == "__main__":
    main()
