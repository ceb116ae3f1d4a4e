"""What is started and where it is fetched from: the records that git and the runners are handed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overlord.domain.identifiers import SessionId
from overlord.domain.session import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where git fetches and pushes, and the credential for it (never part of the URL or of an argument list)."""

    url: str
    authorization: str = field(default="", repr=False)
    """The value of an HTTP `Authorization` header, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCapabilities:
    """What a runner promises, so that a promise it does not keep can be shown to the user."""

    isolates_files: bool
    isolates_network: bool
    limits_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """The program of a coding agent that works in a session."""

    program: str
    """The integration's name, and that of its directory below `/opt/agents` in containers."""
    image: str = ""
    """The image that holds it there; empty where a session's own image or search path has it."""
    executable: str = ""
    """What is started; empty for the integration's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAccess:
    """How a session on another machine reaches its session API."""

    url: str
    """`https://host:port` of the session listener."""
    token: str = field(repr=False)
    """Opens this session's session API and nothing else, for as long as the session lives."""
    authority: str
    """The certificates, as PEM, of which one signed the listener's: the session trusts no others."""

    def environment(self) -> dict[str, str]:
        """What the session's program is told of it."""
        return {
            "OVERLORD_URL": self.url,
            "OVERLORD_TOKEN": self.token,
            "OVERLORD_AUTHORITY": self.authority,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a runner starts: one session's program, with environment only."""

    session: SessionId
    job: str
    environment: Mapping[str, str]
    session_api: Path
    """The directory that holds the session API's socket `s`; mounted read-only where the runner mounts."""
    access: SessionAccess | None = None
    """How a session on another machine reaches the same; None without a session listener."""
    memory_mb: int = 2048
    cpus: float = 1.0
    space: str = ""
    """Whose repository it works on; a setup keeps its downloads by that."""
    layer: str = ""
    """The key of the environment it runs in; its program finds the directory in `MINION_ENVIRONMENT`. Empty for none."""
    makes_layer: bool = False
    """Whether this session makes that environment: it has network and may write there, and nothing of a model's."""
    ready: Path | None = None
    """A ready copy of the base commit, for reading only; its program finds the directory in `MINION_READY`."""
    copy_access: SessionAccess | None = None
    """How another machine fetches that copy."""
    agent: AgentProgram | None = None
    """The coding agent whose program it needs; None for the Minion's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One session as the runner sees it: still going while `ending` is None."""

    session: SessionId
    ending: Ending | None = None
