"""The tables of what is proposed: patterns, where each was seen, and the proposals made of them."""

PROPOSALS = (
    """CREATE TABLE patterns (
        space TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        trigger TEXT NOT NULL,
        label TEXT NOT NULL,
        sample TEXT NOT NULL,
        PRIMARY KEY (space, fingerprint)
    ) STRICT""",
    """CREATE TABLE sightings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        source TEXT NOT NULL,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        issue_number INTEGER NOT NULL,
        is_systemic INTEGER NOT NULL DEFAULT 0,
        answer TEXT NOT NULL DEFAULT '',
        at TEXT NOT NULL,
        UNIQUE (space, fingerprint, source)
    ) STRICT""",
    # How far the ledger was read.
    """CREATE TABLE sighted (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE proposals (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        trigger TEXT NOT NULL,
        type TEXT NOT NULL,
        title TEXT NOT NULL,
        rationale TEXT NOT NULL,
        action TEXT NOT NULL,
        sample TEXT NOT NULL,
        answer TEXT NOT NULL,
        impact TEXT NOT NULL,
        risk TEXT NOT NULL,
        weight INTEGER NOT NULL,
        times INTEGER NOT NULL,
        jobs TEXT NOT NULL,
        issues TEXT NOT NULL,
        created_at TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'pending',
        decided_by TEXT NOT NULL DEFAULT '',
        decided_at TEXT,
        reason TEXT NOT NULL DEFAULT '',
        key TEXT NOT NULL DEFAULT '',
        ordered_at TEXT,
        issue_number INTEGER,
        wish_id INTEGER REFERENCES wishes (id),
        note TEXT NOT NULL DEFAULT '',
        CHECK (status = 'pending' OR decided_by != '')
    ) STRICT""",
    "CREATE UNIQUE INDEX one_open_proposal_per_pattern ON proposals (space, fingerprint) WHERE status IN ('pending', 'approved')",
    "CREATE INDEX ledger_of_name ON ledger (name, seq)",
    "CREATE INDEX proposals_of_pattern ON proposals (space, fingerprint)",
    "CREATE INDEX open_proposals ON proposals (id) WHERE status IN ('pending', 'approved')",
    "CREATE INDEX approved_proposals ON proposals (space, issue_number) WHERE status = 'approved'",
)
