"""What each step is handed: the store, the ports and the settings, built once by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass

from overlord.domain.contract import Contract
from overlord.domain.rubric import Rubric
from overlord.home import Home
from overlord.ports import Assistant, Clock, Forge, Git, Runner
from overlord.settings import Settings
from overlord.store.database import Database
from overlord.store.evidence import EvidenceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`ring` wakes whoever waits for a fact: the daemon's loop and the doors."""

    settings: Settings
    home: Home
    database: Database
    evidence: EvidenceStore
    forge: Forge
    git: Git
    runner: Runner
    assistant: Assistant
    clock: Clock
    contract: Callable[[str], Contract]
    """The contract of a space."""
    rubric: Rubric
    ring: Callable[[], None]
