"""The schema, as numbered steps on `user_version`. A step that was released is never changed; a newer schema is refused."""

import sqlite3

from overlord.errors import StoreError
from overlord.store.schema.access import ACCESS
from overlord.store.schema.approvals import APPROVALS, add_functions
from overlord.store.schema.comments import COMMENTS
from overlord.store.schema.disk import DISK
from overlord.store.schema.drafts import DRAFTS
from overlord.store.schema.homes import HOMES
from overlord.store.schema.managed import CARE
from overlord.store.schema.model import MODEL_OUTAGES
from overlord.store.schema.model_readings import MODEL_READINGS
from overlord.store.schema.proposals import PROPOSALS
from overlord.store.schema.search import SEARCH
from overlord.store.schema.skill_pulls import VETTINGS
from overlord.store.schema.skills import SKILLS
from overlord.store.schema.steering import STEERING
from overlord.store.schema.totals import TOTALS
from overlord.store.schema.untested import UNTESTED

_FIRST = (
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        issue_number INTEGER NOT NULL,
        issue TEXT NOT NULL,
        state TEXT NOT NULL,
        is_open INTEGER NOT NULL,
        branch TEXT NOT NULL,
        base_branch TEXT NOT NULL,
        contract TEXT NOT NULL,
        phase TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        base_sha TEXT,
        head_sha TEXT,
        phase_sha TEXT,
        pushing_sha TEXT,
        pushed_sha TEXT,
        pull_number INTEGER,
        comment_id INTEGER,
        round_kind TEXT NOT NULL DEFAULT 'claim',
        round INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
        losses INTEGER NOT NULL DEFAULT 0,
        reason TEXT NOT NULL DEFAULT '',
        is_urgent INTEGER NOT NULL DEFAULT 0,
        edited_issue TEXT,
        issue_looked_at TEXT,
        issue_missing_at TEXT,
        projected TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    "CREATE UNIQUE INDEX one_live_job_per_task ON jobs (space, issue_number) WHERE is_open",
    "CREATE INDEX open_jobs ON jobs (id) WHERE is_open",
    "CREATE INDEX unprojected_jobs ON jobs (id) WHERE NOT is_open AND projected != state",
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        brief TEXT NOT NULL,
        scope TEXT NOT NULL,
        branch TEXT NOT NULL,
        token_budget INTEGER NOT NULL,
        nusd_budget INTEGER,
        exhausted TEXT,
        time_limit_s INTEGER NOT NULL,
        prepared_at TEXT NOT NULL,
        door_opened_at TEXT,
        sealed_at TEXT,
        started_at TEXT,
        heartbeat_at TEXT,
        ended_at TEXT,
        turn INTEGER NOT NULL DEFAULT 0,
        last_action TEXT NOT NULL DEFAULT '',
        report TEXT,
        stop_reason TEXT,
        dropped TEXT NOT NULL DEFAULT '[]',
        taken_sha TEXT NOT NULL DEFAULT '',
        ending TEXT NOT NULL DEFAULT '',
        layer TEXT NOT NULL DEFAULT '',
        cleared INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE INDEX uncleared_sessions ON sessions (id) WHERE state = 'ended' AND NOT cleared",
    "CREATE UNIQUE INDEX one_live_session_per_job ON sessions (job_id) WHERE state != 'ended'",
    "CREATE INDEX sessions_of_job ON sessions (job_id)",
    """CREATE TABLE exchanges (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        space TEXT NOT NULL,
        day TEXT NOT NULL,
        at TEXT NOT NULL,
        model TEXT NOT NULL,
        reserved INTEGER NOT NULL,
        reserved_nusd INTEGER NOT NULL DEFAULT 0,
        settled INTEGER NOT NULL DEFAULT 0,
        status INTEGER,
        prompt INTEGER NOT NULL DEFAULT 0,
        cached INTEGER NOT NULL DEFAULT 0,
        completion INTEGER NOT NULL DEFAULT 0,
        cost_nusd INTEGER,
        settled_at TEXT
    ) STRICT""",
    "CREATE INDEX exchanges_of_session ON exchanges (session_id)",
    "CREATE INDEX exchanges_of_job ON exchanges (job_id)",
    "CREATE INDEX exchanges_of_day ON exchanges (day, space)",
    """CREATE TABLE budget_marks (
        mark TEXT PRIMARY KEY,
        at TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE evaluations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        head_sha TEXT NOT NULL,
        revision INTEGER NOT NULL,
        at TEXT NOT NULL,
        checks TEXT NOT NULL,
        overall TEXT NOT NULL,
        closed INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE INDEX evaluations_of_job ON evaluations (job_id)",
    "CREATE UNIQUE INDEX one_open_evaluation_per_job ON evaluations (job_id) WHERE NOT closed",
    """CREATE TABLE baselines (
        space TEXT NOT NULL,
        base_sha TEXT NOT NULL,
        plan TEXT NOT NULL,
        result TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (space, base_sha, plan)
    ) STRICT""",
    """CREATE TABLE decisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER REFERENCES jobs (id),
        space TEXT NOT NULL DEFAULT '',
        session_id TEXT REFERENCES sessions (id),
        question_id TEXT,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        verbs TEXT NOT NULL,
        blocks TEXT NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT,
        options TEXT NOT NULL DEFAULT '[]',
        patterns TEXT NOT NULL DEFAULT '[]',
        head_sha TEXT,
        state TEXT NOT NULL DEFAULT 'open',
        verb TEXT,
        answer TEXT NOT NULL DEFAULT '',
        answered_by TEXT NOT NULL DEFAULT '',
        answered_at TEXT,
        applied INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE INDEX decisions_of_job ON decisions (job_id)",
    """CREATE INDEX unapplied_decisions ON decisions (job_id)
       WHERE state = 'answered' AND NOT applied AND session_id IS NULL""",
    "CREATE INDEX ending_decisions ON decisions (id) WHERE state = 'open' AND expires_at IS NOT NULL",
    "CREATE UNIQUE INDEX one_row_per_question ON decisions (session_id, question_id) WHERE question_id IS NOT NULL",
    """CREATE TABLE evidence (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        session_id TEXT,
        kind TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        size INTEGER NOT NULL,
        at TEXT NOT NULL,
        removed_at TEXT
    ) STRICT""",
    "CREATE INDEX evidence_of_job ON evidence (job_id)",
    "CREATE INDEX evidence_of_hash ON evidence (sha256)",
    """CREATE TABLE ledger (
        seq INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        job_id INTEGER,
        name TEXT NOT NULL,
        actor TEXT NOT NULL,
        data TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX ledger_of_job ON ledger (job_id)",
    """CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
       BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TRIGGER ledger_is_never_shortened BEFORE DELETE ON ledger
       BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    # REPLACE deletes without asking the trigger above.
    """CREATE TRIGGER ledger_only_grows_at_its_end BEFORE INSERT ON ledger
       WHEN NEW.seq != (SELECT coalesce(max(seq), 0) + 1 FROM ledger)
       BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TABLE grants (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        granted_by TEXT NOT NULL,
        at TEXT NOT NULL,
        expires_at TEXT,
        session_id TEXT REFERENCES sessions (id)
    ) STRICT""",
    "CREATE INDEX grants_of_job ON grants (job_id)",
    """CREATE TABLE environments (
        id TEXT PRIMARY KEY,
        space TEXT NOT NULL,
        state TEXT NOT NULL,
        image TEXT NOT NULL,
        packages TEXT NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        at TEXT NOT NULL,
        used_at TEXT NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        trouble TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    # Who works on this database: each start takes the next epoch, and a token that no copy of it brings back.
    """CREATE TABLE daemon (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        epoch INTEGER NOT NULL,
        token TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE spaces (
        name TEXT PRIMARY KEY,
        paused INTEGER NOT NULL DEFAULT 0,
        trouble TEXT NOT NULL DEFAULT '',
        polled_at TEXT,
        heard_at TEXT,
        seen_at TEXT,
        begun_at TEXT,
        forge_id INTEGER
    ) STRICT""",
    """CREATE TABLE hearings (
        space TEXT NOT NULL,
        comment_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        author TEXT NOT NULL,
        at TEXT NOT NULL,
        reaction TEXT NOT NULL DEFAULT '',
        reply TEXT NOT NULL DEFAULT '',
        is_owed INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (space, comment_id)
    ) STRICT""",
    "CREATE INDEX owed_hearings ON hearings (space) WHERE is_owed",
    """CREATE TABLE follow_ups (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        kind TEXT NOT NULL,
        round INTEGER NOT NULL,
        key TEXT NOT NULL,
        finding TEXT NOT NULL,
        head_sha TEXT NOT NULL,
        sessions INTEGER NOT NULL,
        thread INTEGER,
        is_owed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (job_id, key)
    ) STRICT""",
    """CREATE TABLE refusals (
        space TEXT NOT NULL,
        issue_number INTEGER NOT NULL,
        labelled_at TEXT NOT NULL,
        seen_at TEXT NOT NULL,
        reason TEXT NOT NULL,
        is_owed INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (space, issue_number)
    ) STRICT""",
    """CREATE TABLE pauses (
        space TEXT PRIMARY KEY,
        actor TEXT NOT NULL,
        at TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    """CREATE TABLE wishes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        number INTEGER NOT NULL,
        actor TEXT NOT NULL,
        at TEXT NOT NULL,
        state TEXT NOT NULL,
        answer TEXT NOT NULL DEFAULT '',
        job_id INTEGER REFERENCES jobs (id),
        answered_at TEXT
    ) STRICT""",
    "CREATE INDEX open_wishes ON wishes (space) WHERE state = 'open'",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        ref INTEGER NOT NULL,
        part INTEGER NOT NULL DEFAULT 0,
        channel TEXT NOT NULL,
        thread TEXT,
        ts TEXT,
        ordered_at TEXT,
        stamp TEXT NOT NULL DEFAULT '',
        shown TEXT NOT NULL DEFAULT '',
        told INTEGER NOT NULL DEFAULT 0,
        is_final INTEGER NOT NULL DEFAULT 0,
        UNIQUE (kind, ref, part)
    ) STRICT""",
    "CREATE INDEX living_messages ON messages (kind, ref) WHERE NOT is_final",
    "CREATE INDEX message_places ON messages (channel, ts)",
    """CREATE TABLE buttons (
        nonce TEXT PRIMARY KEY,
        message_id INTEGER NOT NULL REFERENCES messages (id),
        decision_id INTEGER REFERENCES decisions (id),
        verb TEXT NOT NULL,
        text TEXT NOT NULL DEFAULT '',
        digest TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    "CREATE INDEX buttons_of_message ON buttons (message_id)",
    """CREATE TABLE briefings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        since TEXT NOT NULL,
        at TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        is_told INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE requests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        user TEXT NOT NULL,
        team TEXT NOT NULL,
        channel TEXT NOT NULL,
        ts TEXT NOT NULL DEFAULT '',
        thread TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL DEFAULT '',
        value TEXT NOT NULL DEFAULT '',
        address TEXT NOT NULL DEFAULT '',
        at TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'heard',
        said TEXT NOT NULL DEFAULT '',
        wish_id INTEGER REFERENCES wishes (id),
        message_id INTEGER REFERENCES steering (id)
    ) STRICT""",
    "CREATE INDEX unanswered_requests ON requests (id) WHERE state != 'answered'",
    "CREATE INDEX answered_requests ON requests (at) WHERE state = 'answered'",
    *CARE,
    *DISK,
    *TOTALS,
    *PROPOSALS,
    *SKILLS,
    *DRAFTS,
    *VETTINGS,
    *MODEL_OUTAGES,
    *UNTESTED,
    *COMMENTS,
    *STEERING,
    *HOMES,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, MODEL_READINGS, APPROVALS, ACCESS, SEARCH)
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
