"""The table of drafts of skills."""

DRAFTS = (
    """CREATE TABLE drafts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        kind TEXT NOT NULL,
        requested_by TEXT NOT NULL,
        requested_at TEXT NOT NULL,
        state TEXT NOT NULL,
        proposal_id INTEGER REFERENCES proposals (id),
        reason TEXT NOT NULL DEFAULT '',
        name TEXT NOT NULL DEFAULT '',
        path TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL DEFAULT '',
        base_text TEXT NOT NULL DEFAULT '',
        findings TEXT NOT NULL DEFAULT '[]',
        edited_by TEXT NOT NULL DEFAULT '',
        refused TEXT NOT NULL DEFAULT '',
        trouble TEXT NOT NULL DEFAULT '',
        decided_by TEXT NOT NULL DEFAULT '',
        decided_at TEXT,
        said TEXT NOT NULL DEFAULT '',
        key TEXT NOT NULL DEFAULT '',
        ordered_at TEXT,
        issue_number INTEGER,
        wish_id INTEGER REFERENCES wishes (id),
        note TEXT NOT NULL DEFAULT '',
        CHECK (state NOT IN ('approved', 'implementing', 'in_review', 'deployed', 'rejected') OR decided_by != '')
    ) STRICT""",
    "CREATE INDEX open_drafts ON drafts (id) WHERE state NOT IN ('deployed', 'rejected')",
    "CREATE INDEX worked_drafts ON drafts (space, issue_number) WHERE state IN ('implementing', 'in_review')",
    "CREATE INDEX drafts_of_proposal ON drafts (proposal_id)",
)
