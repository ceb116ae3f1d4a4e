"""How sessions on other machines reach Overlord."""

from typing import Protocol

from overlord.domain.launch import SessionAccess


class RemoteAccess(Protocol):
    """What programs on other machines are given. None each time where there is no session listener."""

    def session(self, session: str) -> SessionAccess | None:
        """A session's way to its session API."""

    def copy(self, space: str, name: str) -> SessionAccess | None:
        """A machine's way to the ready copy of this name, and to nothing else."""


class NoRemoteAccess:
    """Where all sessions are on this machine."""

    def session(self, session: str) -> SessionAccess | None:
        """None: there is no other machine."""
        del session
        return None

    def copy(self, space: str, name: str) -> SessionAccess | None:
        """None: there is no other machine."""
        del space, name
        return None
