"""Starts a server, asks it until it answers as it should or time is up, says what it saw, and ends the server.

Run as a program of its own, outside the tree's Python: it imports nothing but the standard library. What the server prints goes
where this program's own output goes; the last line is this program's.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

SAYS = "http_probe: "
ANSWERED, NOT_ANSWERED, NOT_JUDGED = 0, 4, 3
MOST_BODY = 1 << 20
LONGEST_ANSWER_S = 10.0
BETWEEN_S = 0.1


class Probe:
    """One server and what is asked of it."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._hosts: list[str] = told["hosts"]
        self._port = int(told["port"]) or _free_port(self._hosts[0])
        self._until = 0.0
        self._answered = threading.Event()
        self._last = "nothing listened"

    def run(self) -> int:
        """Start the server, ask, end it, say what was seen; the exit code."""
        taken = next((host for host in self._hosts if _listens(host, self._port)), None)
        if taken is not None:
            return _say(
                NOT_JUDGED,
                f"Something listens at {_at(taken, self._port)} already, before the server was started: choose another port, or none.",
            )
        environment = {**os.environ, "PORT": str(self._port)}
        began = time.monotonic()
        self._until = began + self._told["within_s"]
        try:
            server = subprocess.Popen(
                ("sh", "-c", self._told["start"]),
                cwd=self._told["directory"],
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            return _say(NOT_ANSWERED, f"The server could not be started: {error}.")
        try:
            ended = self._follow(server)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        url = f"http://{_at(self._hosts[0], self._port)}{self._told['path']}"
        if self._answered.is_set():
            return _say(ANSWERED, f"{url} answered {self._last} after {time.monotonic() - began:.1f} s.")
        if ended is not None:
            return _say(
                NOT_ANSWERED, f"{url} did not answer: the server's command ended with exit code {ended}."
            )
        return _say(
            NOT_ANSWERED,
            f"{url} did not answer {self._wanted()} within {self._told['within_s']} s: at last {self._last}.",
        )

    def _follow(self, server: "subprocess.Popen[bytes]") -> int | None:
        """Wait for an answer or the end of the time; what the server's command ended with, if it failed."""
        # A thread of its own: an answer that comes byte by byte would hold the clock up.
        threading.Thread(target=self._ask, daemon=True).start()
        while time.monotonic() < self._until:
            # One that ends with 0 may have left its server running.
            failed = server.poll() or 0
            if self._answered.wait(BETWEEN_S):
                return None
            if failed:
                return failed
        return None

    def _ask(self) -> None:
        while time.monotonic() < self._until:
            for host in self._hosts:
                try:
                    self._last, is_wanted = self._answer(host)
                except ConnectionRefusedError:
                    continue
                except (OSError, http.client.HTTPException, ValueError) as error:
                    self._last, is_wanted = f"{type(error).__name__}: {error}"[:200], False
                if is_wanted:
                    self._answered.set()
                    return
            time.sleep(BETWEEN_S)

    def _answer(self, host: str) -> tuple[str, bool]:
        left_s = max(self._until - time.monotonic(), BETWEEN_S)
        connection = http.client.HTTPConnection(host, self._port, timeout=min(left_s, LONGEST_ANSWER_S))
        with closing(connection):
            connection.request("GET", self._told["path"], headers={"Connection": "close", "Accept": "*/*"})
            response = connection.getresponse()
            status = f"{response.status}"
            if response.status != self._told["status"]:
                return status, False
            wanted = self._told["contains"].encode()
            if not wanted:
                return status, True
            body = b""
            while wanted not in body and len(body) < MOST_BODY and (piece := response.read1(65536)):
                body += piece
            found = wanted in body
            said = "with" if found else "without"
            return f"{status} {said} {self._told['contains']!r} in {len(body):,} bytes", found

    def _wanted(self) -> str:
        contains = self._told["contains"]
        return f"{self._told['status']}" + (f" with {contains!r}" if contains else "")


def _at(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listens(host: str, port: int) -> bool:
    """Whether somebody takes connections there already."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError as error:
        return error.errno is None  # a time-out is somebody who is busy
    return True


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
        found.bind((host, 0))
        return int(found.getsockname()[1])


def _say(code: int, text: str) -> int:
    # Killed with everything else, what the server printed may end in the middle of a line.
    sys.stdout.write(f"\n{SAYS}{' '.join(text.split())}\n")
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    os._exit(Probe(json.loads(sys.argv[1])).run())
