"""The step after which a model reads proposed skills: what it said of each text, and requests to a model that are about no job."""

from overlord.store.schema.totals import EXCHANGES_ARE_COUNTED

_COLUMNS = """id, session_id, job_id, space, day, at, model, reserved, reserved_nusd, settled, status, prompt, cached, completion,
    cost_nusd, settled_at"""

MODEL_READINGS = (
    """CREATE TABLE skill_readings (
        space TEXT NOT NULL,
        digest TEXT NOT NULL,
        findings TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (space, digest)
    ) STRICT, WITHOUT ROWID""",
    # SQLite changes no column, so the table is made anew.
    """CREATE TABLE exchanges_of_all (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT REFERENCES sessions (id),
        job_id INTEGER REFERENCES jobs (id),
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
    f"INSERT INTO exchanges_of_all ({_COLUMNS}) SELECT {_COLUMNS} FROM exchanges",  # noqa: S608 - constants
    "DROP TABLE exchanges",
    "ALTER TABLE exchanges_of_all RENAME TO exchanges",
    "CREATE INDEX exchanges_of_session ON exchanges (session_id)",
    "CREATE INDEX exchanges_of_job ON exchanges (job_id)",
    "CREATE INDEX exchanges_of_day ON exchanges (day, space)",
    EXCHANGES_ARE_COUNTED,
)
