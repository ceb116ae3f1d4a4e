"""A small MCP server that speaks the real protocol, over standard input and output (`python tests/mcp_stub.py`) or HTTP.

It can misbehave: a script of what the next answers are, in place of the right ones.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handler = Any


def listed(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"What {name} does.", "inputSchema": schema, "x-own": 1}


TOOLS = [
    listed("echo", text={"type": "string"}),
    listed("fail"),
    listed("picture"),
    listed("session", session={"type": "string"}),
    listed("secret"),
]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def used(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    if name == "echo":
        return said(str(arguments.get("text")))
    if name == "fail":
        return said("it did not work", isError=True)
    if name == "session":
        return said(f"session is {arguments.get('session')}")
    if name == "picture":
        return {
            "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, *said("a cat")["content"]]
        }
    return said(os.environ.get("STUB_WORD", ""))


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    """The right answer to a message; None to a notification."""
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        return None
    result: dict[str, Any] = {}
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "stub", "version": "1"},
            "instructions": "Be kind.",
        }
    elif method == "tools/list":
        result = {"tools": TOOLS[2:]} if params.get("cursor") else {"tools": TOOLS[:2], "nextCursor": "more"}
    elif method == "tools/call" and params.get("name") in {tool["name"] for tool in TOOLS}:
        result = used(params["name"], params.get("arguments") or {})
    elif method != "ping":
        error = {"code": -32602, "message": f"unknown: {params.get('name') or method}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Stub:
    """The server over HTTP. Each function of `script` answers one request in place of the server."""

    def __init__(self, *, streams: bool = False) -> None:
        self.streams = streams
        self.script: dict[str, list[Callable[[Handler, dict[str, Any]], None]]] = {}
        """By method."""
        self.messages: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.conversations: set[str] = set()
        self.begun = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"stub": self}))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/mcp"

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages]

    def forget(self) -> None:
        """As a server that was started again."""
        self.conversations.clear()

    @contextmanager
    def running(self) -> Iterator["Stub"]:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: Stub

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.stub
        stub.messages.append(message)
        stub.headers.append({name.lower(): value for name, value in self.headers.items()})
        if script := stub.script.get(message["method"]):
            script.pop(0)(self, message)
        elif message["method"] == "initialize":
            stub.begun += 1
            stub.conversations.add(f"c{stub.begun}")
            self.give(answered(message), **{"Mcp-Session-Id": f"c{stub.begun}"})
        elif self.headers.get("Mcp-Session-Id") not in stub.conversations:
            self.send(404, b"{}")
        elif stub.streams and "id" in message:
            self.stream(message)
        else:
            self.give(answered(message))

    def give(self, answer: dict[str, Any] | None, **headers: str) -> None:
        if answer is None:
            self.send(202, b"")
        else:
            self.send(200, json.dumps(answer).encode(), **headers)

    def stream(self, message: dict[str, Any]) -> None:
        """The answer as events, with a message of another kind before it."""
        other = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        whole = json.dumps(answered(message), indent=1).replace("\n", "\ndata: ")
        body = f": hello\r\n\r\nevent: message\r\ndata: {other}\r\n\r\nid: 7\ndata: {whole}\n\n"
        self.send(200, body.encode(), **{"Content-Type": "text/event-stream"})

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


MISBEHAVES: dict[str, Callable[[dict[str, Any]], None]] = {
    "silent": lambda _message: print(end="", flush=threading.Event().wait()),
    "dies": lambda _message: os._exit(3),
    "noise": lambda message: print(
        "Listening!\n[]\n{}\n\xff", json.dumps(answered({**message, "id": -1})), sep="\n"
    ),
    "flood": lambda _message: print("x" * 20_000_000),
    "many": lambda message: print(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": message["id"],
                "result": {"tools": [listed(f"t{n}") for n in range(10_000)]},
            }
        )
    ),
    "endless": lambda message: print(
        json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [], "nextCursor": "again"}})
    ),
    "asks": lambda message: print(
        json.dumps({"jsonrpc": "2.0", "id": message["id"], "method": "sampling/createMessage", "params": {}})
    ),
}
"""What a server over standard input does at a method that its arguments name: `dies@tools/call`."""


def main(faults: list[str]) -> None:
    """Serve standard input."""
    for line in sys.stdin:
        message = json.loads(line)
        fault = next(
            (item.partition("@")[0] for item in faults if item.endswith(f"@{message.get('method')}")), ""
        )
        if fault:
            MISBEHAVES[fault](message)
        answer = answered(message)
        if answer is not None and fault not in ("many", "endless"):
            print(json.dumps(answer))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
