"""One repository under two names: renamed or transferred at the forge, and named by both. It is worked on under the one that was
known first; the other is paused, and a person is asked.
"""

import sqlite3
from datetime import datetime

from overlord.domain.decision import Subject
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.domain.question import ask_about_space
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import decisions, ledger
from overlord.store.spaces import spaces


async def is_itself(parts: Parts, name: RepositoryName) -> bool:
    """Whether a space is a repository that no other space is; looked at before anything of it is, once. Raises what the forge
    answers."""
    if (await parts.database.read(lambda c: spaces.get(c, name))).forge_id is not None:
        return True
    found = await parts.forge.repository(name)
    at, others = parts.clock.now(), [other for other in parts.settings.repositories if other != name]
    return await parts.database.write(
        Failpoint.SPACE_KNOWN, lambda c: _note_identity(c, name, found.id, others, at)
    )


def _note_identity(
    connection: sqlite3.Connection, name: RepositoryName, forge_id: int, others: list[str], at: datetime
) -> bool:
    """In one transaction, so that of two that are looked at together one is the first."""
    twin = next((other for other in others if spaces.get(connection, other).forge_id == forge_id), None)
    if twin is None:
        spaces.note_identity(connection, name, forge_id)
        return True
    spaces.pause(connection, name, paused=True)
    ledger.append(
        connection, LedgerEvent(name=EventName.PAUSED, at=at, data={"space": name, "same_as": twin})
    )
    body = (
        f"At GitHub {name} and {twin} are the same repository: it was renamed or transferred. It is worked on as {twin},"
        f" where that still leads to it. Take one of the two names out of the settings (`overlord space remove` for one that"
        f" was added by command); then trying again looks at {name} anew. Dropping ends its jobs."
    )
    decisions.raise_decision(connection, ask_about_space(name, Subject.SPACE_DOUBLED, body, at=at))
    return False
