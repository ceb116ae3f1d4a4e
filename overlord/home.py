"""Where everything lies under OVERLORD_HOME. Nothing else builds these paths."""

import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.session import door_name


@dataclass(frozen=True, slots=True)
class Home:
    """One Overlord's state on disk."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "overlord.db"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def processes(self) -> Path:
        return self.root / "processes"

    @property
    def containers(self) -> Path:
        return self.root / "containers"

    def instance(self) -> str:
        """What tells this Overlord's containers from another's on the same engine; made once for each home."""
        file = self.root / "instance"
        with contextlib.suppress(FileExistsError), file.open("x", encoding="ascii") as new:
            new.write(secrets.token_hex(6))
        return file.read_text(encoding="ascii")

    @property
    def bell(self) -> Path:
        return self.root / "run" / "bell"

    def mirror(self, repository: str) -> Path:
        return self.root / "mirrors" / f"{repository.casefold()}.git"

    def ready(self, repository: str) -> Path:
        """The ready copies of a repository's base commits, each under its SHA."""
        return self.root / "ready" / repository.casefold()

    @property
    def trash(self) -> Path:
        """What is being deleted."""
        return self.root / "trash"

    def session(self, session: str) -> Path:
        return self.root / "sessions" / session

    def session_repository(self, session: str) -> Path:
        return self.session(session) / "repo.git"

    def transcript(self, session: str) -> Path:
        """What the session and its model said to each other, until it ends and becomes evidence."""
        return self.session(session) / "transcript.jsonl"

    def door(self, session: str) -> Path:
        """The directory a session's socket `s` is in, short enough for a socket's path."""
        return self.root / "run" / door_name(session)

    def socket(self, session: str) -> Path:
        return self.door(session) / "s"
