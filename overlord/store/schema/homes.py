"""The table of people's Home tabs in the chat."""

HOMES = (
    """CREATE TABLE homes (
        user TEXT PRIMARY KEY,
        team TEXT NOT NULL,
        opened_at TEXT NOT NULL,
        is_due INTEGER NOT NULL,
        stamp TEXT NOT NULL,
        shown TEXT NOT NULL
    ) STRICT""",
)
