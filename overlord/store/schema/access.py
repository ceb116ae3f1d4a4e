"""The step after which people sign in by tokens: the tokens there are, and browsers that are signed in. Of secrets, hashes alone."""

ACCESS = (
    """CREATE TABLE access_tokens (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        right TEXT NOT NULL CHECK (right IN ('read', 'act', 'admin')),
        spaces TEXT NOT NULL,
        created_at TEXT NOT NULL,
        created_by TEXT NOT NULL,
        expires_at TEXT,
        last_used_at TEXT,
        revoked_at TEXT
    ) STRICT""",
    "CREATE UNIQUE INDEX one_token_of_a_name ON access_tokens (name) WHERE revoked_at IS NULL",
    # A session of no token is the home's owner's, so a token that has sessions is never deleted: the reference forbids it.
    """CREATE TABLE browser_sessions (
        digest TEXT PRIMARY KEY,
        token_id INTEGER REFERENCES access_tokens (id),
        actor TEXT NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        seen_at TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX browser_sessions_of_token ON browser_sessions (token_id) WHERE token_id IS NOT NULL",
    "CREATE INDEX ending_browser_sessions ON browser_sessions (expires_at)",
)
