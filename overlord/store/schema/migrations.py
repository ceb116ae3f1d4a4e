"""The schema, as numbered steps on `user_version`. A step that was released is never changed; a newer schema is refused."""

import sqlite3

from overlord.errors import StoreError
from overlord.store.schema.access import ACCESS
from overlord.store.schema.accounts import ACCOUNTS
from overlord.store.schema.agents import AGENTS
from overlord.store.schema.api_replies import API_REPLIES
from overlord.store.schema.approvals import APPROVALS, add_functions
from overlord.store.schema.bootstrap import BOOTSTRAP
from overlord.store.schema.contracts import CONTRACTS
from overlord.store.schema.disciplines import DISCIPLINES
from overlord.store.schema.final_states import FINAL_STATES
from overlord.store.schema.first import FIRST
from overlord.store.schema.model_readings import MODEL_READINGS
from overlord.store.schema.outcomes import OUTCOMES
from overlord.store.schema.portfolio import PORTFOLIO
from overlord.store.schema.search import SEARCH
from overlord.store.schema.seen import SEEN

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    FIRST,
    MODEL_READINGS,
    APPROVALS,
    ACCESS,
    (*OUTCOMES, *SEEN, *API_REPLIES, *ACCOUNTS, *SEARCH),
    (*CONTRACTS, *FINAL_STATES),
    BOOTSTRAP,
    AGENTS,
    PORTFOLIO,
    DISCIPLINES,
)
LATEST = len(MIGRATIONS)


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of migrations this database has seen."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_as_made(connection: sqlite3.Connection) -> bool:
    """Whether a database has exactly the tables, indexes and triggers that its schema's version makes."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(made, target=schema_version(connection))
        return _objects(made) == _objects(connection)
    finally:
        made.close()


def _objects(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    return {(row[0], row[1], row[2]) for row in connection.execute(query)}


def migrate(connection: sqlite3.Connection, *, target: int = LATEST) -> None:
    """Bring the schema to `target`, each step in a transaction of its own. Raises StoreError for a newer schema."""
    version = schema_version(connection)
    if version > LATEST:
        raise StoreError(
            f"the database has schema {version}, newer than this Overlord's {LATEST}; install the newer version again,"
            f" or go back to overlord.db.before-{version}, the copy from before the upgrade"
        )
    add_functions(connection)
    for number, statements in enumerate(MIGRATIONS[version:target], start=version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
