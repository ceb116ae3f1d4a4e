"""The table of open pull requests that were looked at for skills."""

VETTINGS = (
    """CREATE TABLE vettings (
        space TEXT NOT NULL,
        number INTEGER NOT NULL,
        head_sha TEXT NOT NULL,
        outcome TEXT NOT NULL,
        base_branch TEXT NOT NULL,
        beside TEXT NOT NULL DEFAULT '',
        files TEXT NOT NULL DEFAULT '[]',
        trouble TEXT NOT NULL DEFAULT '',
        is_marked INTEGER NOT NULL DEFAULT 0,
        noticed TEXT NOT NULL DEFAULT '[]',
        comment_id INTEGER,
        told TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (space, number)
    ) STRICT""",
    "CREATE INDEX vetted_skills ON vettings (space) WHERE outcome != 'untouched'",
)
