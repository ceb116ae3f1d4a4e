"""Streamable HTTP of the session's tools server: loopback only, one random token, one JSON answer to each POST."""

import contextlib
import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from minion.agents.session_tools import wire

PATH = "/mcp"
MOST_BODY_BYTES = 1024 * 1024
MOST_CONNECTIONS = 64
SILENT_S = 120.0
"""How long a connection may be kept open without a request."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Answer = Callable[[wire.Request], bytes]


class Listener:
    """Answers on a free port of loopback until it is closed."""

    def __init__(self, answer: Answer, knows: Callable[[bytes], bool]) -> None:
        """`knows` says whether an Authorization header is the agent's."""
        self._server = _Server(answer, knows)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{PATH}"
        threading.Thread(target=self._server.serve_forever, name="tools", daemon=True).start()

    def close(self) -> None:
        """Stop listening; a connection that is still open gets no more answers."""
        self._server.knows = lambda _sent: False
        with contextlib.suppress(OSError):
            self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for connections
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: Answer, knows: Callable[[bytes], bool]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.knows = knows
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)  # HTTPServer would ask for the name of this host
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that left is no error of ours
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SILENT_S
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        if not self._is_admitted():
            return
        body = self._body()
        if body is None:
            return
        try:
            request = wire.read_request(body)
        except wire.Malformed as error:
            self._send(HTTPStatus.BAD_REQUEST, wire.error(None, error.code, str(error)))
            return
        if request.is_notification:
            self._send(HTTPStatus.ACCEPTED)
        else:
            self._send(HTTPStatus.OK, self.server.answer(request))

    def do_GET(self) -> None:
        if self._is_admitted():
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "This server opens no stream: send messages by POST.")

    def do_DELETE(self) -> None:
        self.do_GET()

    def _is_admitted(self) -> bool:
        """Whether the request is the agent's; one that is not is answered."""
        if urlsplit(self.path).path != PATH:
            self._refuse(HTTPStatus.NOT_FOUND, f"There is only {PATH} here.")
            return False
        origin = self.headers.get("Origin")
        if origin is not None and _host_of(origin) not in LOOPBACK:
            self._refuse(HTTPStatus.FORBIDDEN, "Requests of web pages are not answered.")
            return False
        sent = self.headers.get("Authorization", "")
        if not self.server.knows(sent.encode("utf-8", "replace")):
            self._refuse(HTTPStatus.UNAUTHORIZED, "The Authorization header is not this session's.")
            return False
        version = self.headers.get("MCP-Protocol-Version", wire.VERSIONS[-1])
        if version not in wire.VERSIONS:
            known = ", ".join(wire.VERSIONS)
            self._refuse(HTTPStatus.BAD_REQUEST, f"MCP-Protocol-Version must be one of {known}.")
            return False
        return True

    def _body(self) -> bytes | None:
        """The request's body; None for one that is not taken, which is answered."""
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The Content-Type must be application/json.")
            return None
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or self.headers.get("Transfer-Encoding"):
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "The request must have a Content-Length.")
            return None
        if len(length) > 12 or int(length) > MOST_BODY_BYTES:
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {MOST_BODY_BYTES:,} bytes."
            )
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self.close_connection = True  # a body that was not read would be taken for the next request
        self._send(status, wire.error(None, wire.INVALID_REQUEST, message))

    def _send(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response_only(status)
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "POST")
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Nothing: what is called is told as the agent's own actions."""


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
