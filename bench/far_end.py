"""The external service of a benchmark: a model without latency that plays a script and notes when it was asked.

Both agents are served by the same code, the Minion over its unix socket and the peer over loopback TCP.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any

from tests.minion.session_api import SessionApi, Wire, _Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One session, measured from outside. Times in milliseconds."""

    start_ms: float
    turns_ms: Sequence[float]
    exit_ms: float
    cpu_s: float
    peak_mb: float


class _TcpServer(ThreadingMixIn, TCPServer):
    """The scripted model for a program that wants a base URL."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, session_api: SessionApi) -> None:
        self.session_api = session_api
        self.connections: set[Any] = set()
        super().__init__(("127.0.0.1", 0), _Handler)


@contextmanager
def loopback(session_api: SessionApi) -> Iterator[str]:
    """Serve the session API's script on loopback; gives the base URL."""
    server = _TcpServer(session_api)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


class Peak:
    """Wraps the last reply of a script to read how much memory the program has ever held."""

    def __init__(self, reply: bytes) -> None:
        self.pid = 0
        self.mb = 0.0
        self._reply = reply

    def __call__(self, handler: Any) -> None:
        status = Path(f"/proc/{self.pid}/status").read_text()
        self.mb = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        handler.answer(200, self._reply)


def measure(
    session_api: SessionApi,
    script: Sequence[bytes],
    words: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
) -> Run:
    """Run one program through a script and say what it took."""
    peak = Peak(script[-1])
    wires: list[Wire] = [*script[:-1], peak]
    session_api.script[:] = wires
    session_api.remembers = False
    log = session_api.root / "log"
    with log.open("wb") as output:
        began = time.perf_counter()
        program = subprocess.Popen(words, env=dict(environment), cwd=cwd, stdout=output, stderr=output)
        peak.pid = program.pid
        _, status, used = os.wait4(program.pid, 0)
        ended = time.perf_counter()
    program.returncode = os.waitstatus_to_exitcode(status)
    if len(session_api.turns) != len(script):
        said = log.read_text(errors="replace")[-2000:]
        raise SystemExit(f"{words[0]} stopped after {len(session_api.turns)} of {len(script)} turns:\n{said}")
    pairs = zip(session_api.turns, session_api.turns[1:], strict=False)
    return Run(
        start_ms=(session_api.turns[0][0] - began) * 1000,
        turns_ms=[(after[0] - before[1]) * 1000 for before, after in pairs],
        exit_ms=(ended - session_api.turns[-1][1]) * 1000,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_mb=peak.mb,
    )


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile_95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def thirds(values: Sequence[float]) -> tuple[float, float]:
    """The median of the first and of the last third."""
    size = max(len(values) // 3, 1)
    return median(values[:size]), median(values[-size:])
