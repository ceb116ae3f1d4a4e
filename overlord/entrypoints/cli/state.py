"""Reaching the state beside a running daemon: read what it wrote, write a fact, ring its bell."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from overlord.bell import ring
from overlord.errors import StoreError
from overlord.home import Home
from overlord.settings import Settings, load
from overlord.store.database import open_reader, write_beside

Result = TypeVar("Result")


def home() -> Home:
    return Home(settings().home)


def settings() -> Settings:
    return load(os.environ)


@contextmanager
def reading() -> Iterator[sqlite3.Connection]:
    """One consistent view of the database. Raises StoreError when there is none."""
    path = home().database
    with closing(open_reader(path)) as connection:
        try:
            connection.execute("BEGIN")
            yield connection
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{path} cannot be used: {error}") from error


def write(act: Callable[[sqlite3.Connection], Result]) -> Result:
    """Write a fact in one transaction and wake the daemon."""
    place = home()
    result = write_beside(place.database, act)
    ring(place.bell)
    return result
