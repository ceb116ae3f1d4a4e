"""External services that are none of git's own servers: one that only knows files, one that says the same to everybody."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


class _Same(BaseHTTPRequestHandler):
    kind, body = "", b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.kind)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served_as_files(directory: Path) -> Iterator[str]:
    """Git's dumb protocol: a web server that only knows files."""
    with _served(functools.partial(_Files, directory=str(directory))) as url:
        yield url


@contextmanager
def saying(kind: str, body: bytes) -> Iterator[str]:
    """A web server that answers every request with this, as a proxy's sign-in page does."""
    with _served(type("Saying", (_Same,), {"kind": kind, "body": body})) as url:
        yield url


@contextmanager
def _served(answer: Callable[..., Any]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
