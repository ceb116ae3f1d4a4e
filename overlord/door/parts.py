"""What every door is built from."""

from dataclasses import dataclass

from overlord.bell import Bell
from overlord.home import Home
from overlord.ports import Clock, Model
from overlord.settings import Settings
from overlord.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorParts:
    """`bell` is rung when a session says something, and heard while one waits for an answer."""

    settings: Settings
    home: Home
    database: Database
    model: Model
    clock: Clock
    bell: Bell
