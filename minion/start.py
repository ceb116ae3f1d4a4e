"""What a session's program starts with: the environment it was given, its session API, and where it may work."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minion.errors import BadStart
from minion.interrupt import Interrupts
from minion.session_api import SessionApi

if TYPE_CHECKING:
    from minion.reach import Reach
    from minion.setup.environment import Environment

DEFAULT_PATIENCE_S = 600.0
DEFAULT_WORK = Path("/work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The start of one session. `temporary` says that `home` is ours to remove."""

    environment: Mapping[str, str]
    session_api: SessionApi
    interrupts: Interrupts
    home: Path
    temporary: bool
    reach: "Reach | None" = None
    """The way to a session API on another machine."""

    @classmethod
    def read(cls, environment: Mapping[str, str], interrupts: Interrupts) -> "Start":
        """Read the environment. Raises BadStart with the name of the variable that is wrong."""
        value = environment.get("MINION_PATIENCE_S", str(DEFAULT_PATIENCE_S))
        try:
            patience_s = float(value)
        except ValueError:
            raise BadStart(f"MINION_PATIENCE_S must be a number of seconds, not {value!r}") from None
        reach = None
        if environment.get("OVERLORD_URL", "").startswith("https:"):
            from minion.reach import reached  # sessions on the daemon's own machine do not pay for it

            environment, reach = reached(environment)
        session_api = SessionApi.at(environment.get("OVERLORD_URL", ""), patience_s=patience_s)
        home = _home(environment)
        temporary = home is None
        if home is None:
            import tempfile

            home = Path(tempfile.mkdtemp(prefix="minion-"))
        return cls(
            environment=environment,
            session_api=session_api,
            interrupts=interrupts,
            home=home,
            temporary=temporary,
            reach=reach,
        )

    @property
    def search_path(self) -> str:
        return self.environment.get("PATH", os.defpath)

    def repository_environment(self) -> "Environment | None":
        """What a setup session made for this repository. Raises BadStart when it is named and cannot be used."""
        if not self.environment.get("MINION_ENVIRONMENT"):
            return None
        from minion.setup.environment import Environment  # a session without one does not pay for it

        return Environment.of(self.environment)

    def leave(self) -> None:
        """Let go of the session API, and of a temporary directory of our own making."""
        self.session_api.close()
        if self.reach is not None:
            self.reach.close()
        if self.temporary:
            import shutil

            shutil.rmtree(self.home, ignore_errors=True)


def _home(environment: Mapping[str, str]) -> Path | None:
    if path := environment.get("MINION_WORK"):
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadStart(f"MINION_WORK cannot be used: {error}") from None
        return Path(path).resolve()
    return DEFAULT_WORK if os.access(DEFAULT_WORK, os.W_OK) else None
