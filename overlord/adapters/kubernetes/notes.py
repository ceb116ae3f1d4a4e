"""What a cluster does not remember of a session, as a small file each: which Job it is, when it was let go, that we asked it to stop,
and how it ended, as soon as that was seen.

A Pod that is deleted takes its exit code along, whoever deleted it, and that is also how a Pod is stopped.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from overlord.domain.identifiers import SessionId
from overlord.domain.session import Ending, EndKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is noted of one session."""

    job: str = ""
    """The Job's uid; empty before it was let go."""
    started_at: float = 0.0
    """Seconds since the epoch, on this machine's clock: no node's is compared with it."""
    is_stopped: bool = False
    ending: Ending | None = None


class Notes:
    """The notes of one runner's sessions, in a directory of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def of(self, session: SessionId) -> Note:
        """What is noted of a session; an empty note for one nobody knows."""
        try:
            found = json.loads(self._file(session).read_text())
        except FileNotFoundError:
            return Note()
        ending = found.pop("ending")
        kept = None if ending is None else Ending(**{**ending, "kind": EndKind(ending["kind"])})
        return Note(**found, ending=kept)

    def started(self, session: SessionId, job: str) -> None:
        self._write(session, replace(self.of(session), job=job, started_at=time.time()))

    def stopped(self, session: SessionId) -> None:
        self._write(session, replace(self.of(session), is_stopped=True))

    def ended(self, session: SessionId, ending: Ending) -> None:
        self._write(session, replace(self.of(session), ending=ending))

    def keep_log(self, session: SessionId, content: bytes) -> None:
        """Keep what a session printed: it goes with its Pod."""
        self._log(session).write_bytes(content)

    def log(self, session: SessionId) -> bytes:
        try:
            return self._log(session).read_bytes()
        except FileNotFoundError:
            return b""

    def forget(self, session: SessionId) -> None:
        for file in (self._file(session), self._log(session)):
            file.unlink(missing_ok=True)

    def all_started(self) -> set[SessionId]:
        """Every session that was started and not removed."""
        names = {SessionId(file.name.removesuffix(".json")) for file in self._root.glob("*.json")}
        return {name for name in names if self.of(name).job}

    def _write(self, session: SessionId, note: Note) -> None:
        whole = self._root / f".{session}.new"
        whole.write_text(json.dumps(asdict(note)))
        whole.replace(self._file(session))

    def _file(self, session: SessionId) -> Path:
        return self._root / f"{session}.json"

    def _log(self, session: SessionId) -> Path:
        return self._root / f"{session}.log"
