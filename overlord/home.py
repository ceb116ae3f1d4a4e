"""Where everything lies under OVERLORD_HOME. Nothing else builds these paths."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.disk import FreeSpace
from overlord.domain.session import socket_name

LEAST_BYTES, LEAST_FILES = 1_000_000, 50
"""Less room than this is none: a report with its log, or one push, may need as much."""

BLOCK_BYTES = 4096
STAGING = ".restoring-"
"""Where a backup is unpacked before any of it counts."""


@dataclass(frozen=True, slots=True)
class Home:
    """One Overlord's state on disk."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "overlord.db"

    def stagings(self) -> list[Path]:
        """What restores that were cut off left."""
        return list(self.root.glob(f"{STAGING}*"))

    def database_copies(self) -> list[Path]:
        """The database as it was before upgrades."""
        return list(self.root.glob(f"{self.database.name}.before-*[0-9]"))

    @property
    def settings(self) -> Path:
        """The operator's own settings, unless OVERLORD_CONFIG says otherwise."""
        return self.root / "overlord.yaml"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def brain(self) -> Path:
        """What sessions of other agents left to remember and to learn from; training data is below it."""
        return self.root / "brain"

    @property
    def hooks(self) -> Path:
        """Where the operator's own programs work, and may lie."""
        return self.root / "hooks"

    @property
    def page_token(self) -> Path:
        """What whoever owns this home signs in with at the operator's page."""
        return self.root / "page.token"

    @property
    def page(self) -> Path:
        """The address of the page of the daemon that runs."""
        return self.root / "page.address"

    @property
    def processes(self) -> Path:
        return self.root / "processes"

    @property
    def containers(self) -> Path:
        return self.root / "containers"

    @property
    def pods(self) -> Path:
        """What is noted of sessions in a cluster."""
        return self.root / "pods"

    @property
    def processes_agreed(self) -> Path:
        """There once a person said that sessions may be plain processes where no engine answers."""
        return self.root / "processes.agreed"

    def agree_to_processes(self) -> None:
        """Remember that a person said so; whoever deletes the file takes it back."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.processes_agreed.touch(mode=0o600)

    def instance(self) -> str:
        """What tells this Overlord's containers from another's on the same engine; made once for each home."""
        file = self.root / "instance"
        with contextlib.suppress(FileExistsError), file.open("x", encoding="ascii") as new:
            new.write(secrets.token_hex(6))
        return file.read_text(encoding="ascii")

    @contextlib.contextmanager
    def housekeeping(self, *, exclusive: bool) -> Iterator[bool]:
        """Keep evidence and commits from being taken away while others are at them, in whatever process. Who takes away is
        alone with it, and does not wait for it: whether it was had."""
        lock = os.open(self.root / "keep.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(lock)

    @property
    def keep_asked(self) -> Path:
        """There when somebody asks the daemon to keep house now."""
        return self.root / "keep.asked"

    def take_keep_asked(self) -> bool:
        """Whether somebody asks for that; from now on nobody does."""
        try:
            self.keep_asked.unlink()
        except OSError:
            return False
        return True

    def room(self) -> FreeSpace:
        """What is left of its file system for who is not root; of several, the least."""
        rooms = [_room(place) for place in self._disks()]
        files = [room.files for room in rooms if room.files is not None]
        return FreeSpace(bytes=min(room.bytes for room in rooms), files=min(files, default=None))

    def shortage(self) -> str:
        """What a file system of it has too little of for anything to be kept, in a sentence; empty when all have enough."""
        for place in self._disks():
            room = _room(place)
            if room.bytes < LEAST_BYTES:
                return f"the disk of {place} is full"
            if room.files is not None and room.files < LEAST_FILES:
                return f"the disk of {place} can hold no more files (it has no inodes left)"
        return ""

    def _disks(self) -> list[Path]:
        """Its root, and those of its larger folders that somebody put onto another file system."""
        found = {self.root.stat().st_dev: self.root}
        for folder in (self.evidence, self.mirrors, self.sessions, self.processes):
            with contextlib.suppress(OSError):  # not there yet
                found.setdefault(folder.stat().st_dev, folder)
        return list(found.values())

    @property
    def wakeup(self) -> Path:
        return self.root / "run" / "bell"

    @property
    def mirrors(self) -> Path:
        return self.root / "mirrors"

    def mirror(self, repository: str) -> Path:
        return self.mirrors / f"{repository.casefold()}.git"

    def ready(self, repository: str) -> Path:
        """The ready copies of a repository's base commits, each under its SHA."""
        return self.root / "ready" / repository.casefold()

    def modules(self, repository: str) -> Path:
        """What was fetched of a repository's submodules."""
        return self.root / "modules" / repository.casefold()

    def large_objects(self, repository: str) -> Path:
        """What was fetched of what Git LFS keeps for a repository, each under its own SHA-256."""
        return self.root / "lfs" / repository.casefold()

    def checkout(self, name: str) -> Path:
        """What is known of a checkout that disciplines work on (`entrypoints/mcp`): hashes, what was written to it, its lock."""
        return self.root / "checkouts" / name

    @property
    def trash(self) -> Path:
        """What is being deleted."""
        return self.root / "trash"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    def session(self, session: str) -> Path:
        return self.sessions / session

    def session_repository(self, session: str) -> Path:
        return self.session(session) / "repo.git"

    def pushed_bytes(self, session: str) -> int:
        """What a session has added to its repository. Who made that wrote down what it took then."""
        repository = self.session_repository(session)
        taken = taken_bytes(repository / "objects")
        begun = (repository / "ready").read_text()
        return max(taken - int(begun), 0) if begun else 0  # made before that was written down

    def transcript(self, session: str) -> Path:
        """What the session and its model said to each other, until it ends and becomes evidence."""
        return self.session(session) / "transcript.jsonl"

    @property
    def session_apis(self) -> Path:
        """Where each live session's session API has its directory."""
        return self.root / "run"

    def session_api(self, session: str) -> Path:
        """The directory a session's socket `s` is in, short enough for a socket's path. Nobody else can guess its name; a session that
        an older version began keeps its own. Raises OSError where this home's key cannot be made."""
        older = self.session_apis / socket_name(session, b"")
        return older if older.is_dir() else self.session_apis / socket_name(session, self._session_api_key())

    def _session_api_key(self) -> bytes:
        """What names of sessions' directories are made with; made once for each home, and nothing before there is one."""
        file = self.root / "doors.key"
        with contextlib.suppress(FileNotFoundError):
            return file.read_bytes()
        if not self.root.is_dir():
            return b""
        new = self.root / f"doors.key.{secrets.token_hex(4)}"
        new.touch(mode=0o600)
        new.write_bytes(secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):  # another program was faster
            os.link(new, file)
        new.unlink()
        return file.read_bytes()

    def socket(self, session: str) -> Path:
        return self.session_api(session) / "s"

    @property
    def session_listener(self) -> Path:
        """The keys of the listener for sessions on other machines."""
        return self.root / "session-listener"

    @property
    def any_socket(self) -> Path:
        """No session's: one that is as long as every session's."""
        return self.session_apis / socket_name("any", b"") / "s"


def taken_bytes(directory: Path) -> int:
    """What the files below a directory take on a disk: thousands of small ones are not little."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):  # just going away
                total += -(-Path(place, name).lstat().st_size // BLOCK_BYTES) * BLOCK_BYTES
    return total


def _room(place: Path) -> FreeSpace:
    filesystem = os.statvfs(place)
    files = filesystem.f_favail if filesystem.f_files else None
    return FreeSpace(bytes=filesystem.f_bavail * filesystem.f_frsize, files=files)
