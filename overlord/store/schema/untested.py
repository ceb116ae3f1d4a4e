"""The table of what people said about repositories without tests."""

UNTESTED = (
    """CREATE TABLE untested_policies (
        space TEXT PRIMARY KEY,
        choice TEXT NOT NULL,
        decided_by TEXT NOT NULL,
        decided_at TEXT NOT NULL
    ) STRICT""",
)
