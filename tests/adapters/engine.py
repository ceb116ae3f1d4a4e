"""A Docker engine of a test's own, to be shut down and killed: in a network of its own, beside the one that is used."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from typing_extensions import override

LENT = "FAULT_ENGINE"
"""Names the directory of the engine that a campaign in a program of its own is lent by the one that began it."""


class OwnEngine:
    """Starts `dockerd` (as root), with one directory holding all it has. `state` is what it finds as /var/lib/overlord, where a
    service keeps its state: the machine's own /var/lib it does not see."""

    def __init__(self, *, state: Path | None = None) -> None:
        self.state = state
        self.directory = Path(tempfile.mkdtemp(prefix="engine-"))
        self.address = f"unix://{self.directory}/s"
        self.live_restore = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_up(self) -> bool:
        return self._process is not None

    def start(self, *, live_restore: bool = False) -> None:
        """Start it, and wait until it says that it listens. `live_restore`: what runs goes on while it is down."""
        self.live_restore = live_restore
        # Its own network namespace: an engine without a bridge would take away the bridge of the other one.
        command = [
            "unshare",
            "--net",
            *self._with_state(),
            "dockerd",
            "--host",
            self.address,
            "--bridge",
            "none",
            "--iptables=false",
            *(["--live-restore"] if live_restore else []),
        ]
        for what in ("data-root", "exec-root", "pidfile"):
            command += [f"--{what}", str(self.directory / what)]
        # Left by one that was killed; where nobody reaps the dead, the next engine would wait for it to answer.
        for left in ("pidfile", "exec-root/containerd/containerd.pid"):
            (self.directory / left).unlink(missing_ok=True)
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
        said = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            said.append(line)
            if b"API listen on" in line:
                break
        else:
            self._process.wait()
            self._process = None
            raise AssertionError(b"".join(said[-20:]).decode())
        threading.Thread(target=_read_on, args=[self._process.stderr], daemon=True).start()

    def _with_state(self) -> list[str]:
        if self.state is None:
            return []
        place = "/var/lib/overlord"
        lines = f'mount -t tmpfs state /var/lib; mkdir {place}; mount --bind "$0" {place}; exec "$@"'
        return ["--mount", "sh", "-euc", lines, str(self.state)]

    def load(self, image: str) -> None:
        """Bring an image over from the engine that is used."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
            command = ["docker", "--host", self.address, "load", "--quiet"]
            subprocess.run(command, stdin=saved.stdout, check=True, stdout=subprocess.DEVNULL)

    def end(self, number: signal.Signals) -> None:
        """Signal it, and wait until it and the daemon below it are gone: the next one would find that half dead."""
        assert self._process is not None
        below = os.pidfd_open(int((self.directory / "exec-root/containerd/containerd.pid").read_text()))
        self._process.send_signal(number)
        self._process.wait(timeout=180)
        self._process = None
        poll = select.poll()
        poll.register(below, select.POLLIN)
        poll.poll(60_000)
        os.close(below)

    def lose_power(self, name: str) -> None:
        """End everything at once, one container included, as when the machine goes down; what was in /run is gone."""
        inspect = ["docker", "--host", self.address, "inspect", "--format", "{{.State.Pid}}", name]
        container = int(subprocess.run(inspect, check=True, capture_output=True).stdout)
        self.end(signal.SIGKILL)
        mark = str(self.directory).encode()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
        os.kill(container, signal.SIGKILL)
        self._unmount()
        shutil.rmtree(self.directory / "exec-root", ignore_errors=True)

    def remove(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=180)
        self._unmount()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _unmount(self) -> None:
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            if (place := line.split()[4]).startswith(str(self.directory)):
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)


class LentEngine(OwnEngine):
    """One that runs, and is its owner's to shut down."""

    def __init__(self, directory: Path) -> None:
        self.state = None
        self.directory = directory
        self.address = f"unix://{directory}/s"
        self.live_restore = False

    @property
    @override
    def is_up(self) -> bool:
        return True

    @override
    def remove(self) -> None:
        return


def _read_on(stream: IO[bytes]) -> None:
    with stream:
        while stream.read(65536):
            pass
