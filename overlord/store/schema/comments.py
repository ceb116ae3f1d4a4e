"""The table of what people asked for in the conversations of pull requests."""

COMMENTS = (
    """CREATE TABLE comment_requests (
        space TEXT NOT NULL,
        comment_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        author TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (space, comment_id)
    ) STRICT""",
    "CREATE INDEX requests_at_pulls ON comment_requests (space, number)",
)
