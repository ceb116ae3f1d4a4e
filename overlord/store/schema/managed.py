"""The tables of what is managed by Overlord by command and of how the settings were last taken."""

CARE = (
    """CREATE TABLE care (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        is_removed INTEGER NOT NULL,
        given TEXT NOT NULL,
        actor TEXT NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE settings_notes (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        trouble TEXT NOT NULL,
        restart TEXT NOT NULL,
        at TEXT NOT NULL
    ) STRICT""",
)
