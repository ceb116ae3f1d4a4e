"""The step after which people ask for issues to be opened, and a repository's first job discovers and proposes a contract."""

BOOTSTRAP = (
    """CREATE TABLE issue_requests (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        options TEXT NOT NULL,
        actor TEXT NOT NULL,
        requested_at TEXT NOT NULL,
        ordered_at TEXT,
        issue_number INTEGER,
        trouble TEXT NOT NULL DEFAULT '',
        wish_id INTEGER,
        comment_id INTEGER,
        is_told INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    "CREATE UNIQUE INDEX issue_requests_of_issue ON issue_requests (space, issue_number)",
    "ALTER TABLE requests ADD COLUMN issue_request_id INTEGER REFERENCES issue_requests (id)",
    """CREATE TABLE discoveries (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        text TEXT NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE contract_drafts (
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        text TEXT NOT NULL,
        problems TEXT NOT NULL,
        proposals INTEGER NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
)
