"""The table of what people say to jobs while they are worked on."""

STEERING = (
    """CREATE TABLE steering (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        text TEXT NOT NULL,
        actor TEXT NOT NULL,
        at TEXT NOT NULL,
        session_id TEXT REFERENCES sessions (id),
        missed_by TEXT REFERENCES sessions (id),
        is_read INTEGER NOT NULL DEFAULT 0,
        turn INTEGER NOT NULL DEFAULT 0,
        comment_id INTEGER,
        is_told INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE INDEX steering_of_job ON steering (job_id)",
    "CREATE INDEX steering_to_tell ON steering (id) WHERE comment_id IS NOT NULL AND NOT is_told",
)
