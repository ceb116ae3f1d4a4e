"""The step after which other coding agents work in sessions, each with a model of its own, and cache writes are counted."""

AGENTS = (
    "ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT 'native'",
    "ALTER TABLE sessions ADD COLUMN model TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE exchanges ADD COLUMN cache_written INTEGER NOT NULL DEFAULT 0",
)
