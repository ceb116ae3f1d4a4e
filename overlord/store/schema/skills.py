"""The tables of the skills' registry: what each repository has at its base, and which session was offered and loaded what."""

SKILLS = (
    # A skill whose origin was said before it was seen at base has no `first_seen_at` yet.
    """CREATE TABLE skills (
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        origin TEXT NOT NULL DEFAULT 'manual',
        state TEXT NOT NULL DEFAULT 'gone',
        version TEXT NOT NULL DEFAULT '',
        digest TEXT NOT NULL DEFAULT '',
        path TEXT NOT NULL DEFAULT '',
        description TEXT NOT NULL DEFAULT '',
        first_seen_at TEXT,
        changed_at TEXT,
        last_seen_at TEXT,
        PRIMARY KEY (space, name)
    ) STRICT""",
    """CREATE TABLE skill_uses (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        digest TEXT NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        offered_at TEXT NOT NULL,
        loaded_at TEXT,
        UNIQUE (session_id, name)
    ) STRICT""",
    "CREATE INDEX uses_of_skill ON skill_uses (space, name, digest)",
    "CREATE INDEX skills_of_job ON skill_uses (job_id) WHERE loaded_at IS NOT NULL",
)
