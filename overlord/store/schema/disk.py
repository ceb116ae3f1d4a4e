"""The table of the disk's shortage."""

DISK = (
    """CREATE TABLE shortages (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        at TEXT NOT NULL,
        reason TEXT NOT NULL
    ) STRICT""",
)
