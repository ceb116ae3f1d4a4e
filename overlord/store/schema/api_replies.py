"""The step after which a request of the API that is sent twice is carried out once: what was answered, by who asked and their key."""

API_REPLIES = (
    """CREATE TABLE api_replies (
        actor TEXT NOT NULL,
        key TEXT NOT NULL,
        request TEXT NOT NULL,
        reply TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (actor, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX old_api_replies ON api_replies (at)",
)
