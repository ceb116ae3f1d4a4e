"""What a Docker engine does not remember of a session, as small files: that it was started, that we asked it to stop,
that somebody else sent it a signal. And what its end means in the light of them.

Whether a session ended or was started again is read from one reply of the engine alone. Its events arrive on another
connection: one may overtake a reply that was made before it, so the two together prove nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from overlord.domain.identifiers import SessionId
from overlord.domain.session import Ending, EndKind

_ALIVE = {"running", "paused", "restarting"}
_DEADLY = {"1", "2", "3", "9", "15"}
_NEVER = "0001-01-01"
"""How the engine writes the day of what did not happen."""
_ENDED_BY_OTHERS = {
    129: "HUP",
    130: "INT",
    137: "KILL",
    143: "TERM",
    255: "the engine or the machine went down",
}


class Note(StrEnum):
    """Each is a file named for the session."""

    STARTED = ".started"
    STOP = ".stop"
    KILLED = ".killed"
    """Holds the signal's number."""


class Notes:
    """The notes of one runner's sessions."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def take(self, session: SessionId, note: Note) -> None:
        self._file(session, note).touch()

    def has(self, session: SessionId, note: Note) -> bool:
        return self._file(session, note).exists()

    def signalled(self, session: SessionId, signal: str) -> None:
        """Note a signal, if it ends programs and is not of our own sending."""
        if signal in _DEADLY and self.has(session, Note.STARTED) and not self.has(session, Note.STOP):
            self._file(session, Note.KILLED).write_text(signal)

    def forget(self, session: SessionId) -> None:
        for note in Note:
            self._file(session, note).unlink(missing_ok=True)

    def started(self) -> set[SessionId]:
        """Every session that was started and not removed."""
        return {
            SessionId(file.name.removesuffix(Note.STARTED)) for file in self._root.glob(f"*{Note.STARTED}")
        }

    def vanished(self, session: SessionId) -> Ending | None:
        """The end of a session that has no container: None when it never had one."""
        if not self.has(session, Note.STARTED):
            return None
        return Ending(kind=EndKind.LOST, detail="its container is gone")

    def ending(self, session: SessionId, state: Mapping[str, Any]) -> Ending | None:
        """The end of a session, from its container's state; None while it goes on."""
        if state["Running"] or state["Status"] in _ALIVE:
            again = Ending(kind=EndKind.KILLED, detail="somebody started its container again")
            return again if _has_ended_before(state) else None
        code, out_of_memory = int(state["ExitCode"]), bool(state["OOMKilled"])
        if self.has(session, Note.STOP):
            detail = "it had run out of memory" if out_of_memory else ""
            return Ending(kind=EndKind.STOPPED, exit_code=code, detail=detail)
        if out_of_memory:
            return Ending(kind=EndKind.OUT_OF_MEMORY, exit_code=code, detail=str(state["Error"]))
        if self.has(session, Note.KILLED):
            text = self._file(session, Note.KILLED).read_text()
            return Ending(kind=EndKind.KILLED, exit_code=code, detail=f"signal {text} from outside")
        if code in _ENDED_BY_OTHERS:
            return Ending(kind=EndKind.KILLED, exit_code=code, detail=_ENDED_BY_OTHERS[code])
        return Ending(kind=EndKind.EXITED, exit_code=code, detail=str(state["Error"]))

    def _file(self, session: SessionId, note: Note) -> Path:
        return self._root / f"{session}{note}"


def _has_ended_before(state: Mapping[str, Any]) -> bool:
    """Whether a container that runs had ended: a start leaves the time of its last end as it was."""
    finished = str(state["FinishedAt"])
    return bool(finished) and not finished.startswith(_NEVER)
